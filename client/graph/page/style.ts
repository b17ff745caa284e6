// The style of the graph page, light and dark.
export const STYLE = `
:root { color-scheme: light dark; --paper: #f7f8fa; --card: #fff; --ink: #1c2128; --soft: #5b6470; --line: #d3d8df; --edge: #8a94a3;
  --hit: #1a7f4b; --miss: #b4530a; --unknown: #6b7280; --near: #2563eb; --shade: 0 1px 3px rgb(0 0 0 / .12); }
@media (prefers-color-scheme: dark) { :root { --paper: #14171c; --card: #1e232b; --ink: #e6e9ee; --soft: #9aa4b2; --line: #343b46;
  --edge: #6a7585; --hit: #4cc38a; --miss: #f0a35e; --unknown: #9aa4b2; --near: #7aa7ff; --shade: 0 1px 3px rgb(0 0 0 / .5); } }
* { box-sizing: border-box; }
html, body { height: 100%; margin: 0; }
body { display: flex; flex-direction: column; font: 14px/1.4 system-ui, sans-serif; background: var(--paper); color: var(--ink); }
header { display: flex; flex-wrap: wrap; align-items: center; gap: 8px 20px; padding: 10px 16px; background: var(--card);
  border-bottom: 1px solid var(--line); z-index: 1; }
h1 { font-size: 17px; margin: 0; overflow-wrap: anywhere; }
h1 small { font-weight: normal; font-size: 13px; color: var(--soft); margin-left: 8px; }
.tools { display: flex; flex-wrap: wrap; gap: 8px; margin-left: auto; align-items: center; }
input[type=search] { width: 240px; font: inherit; padding: 5px 10px; border: 1px solid var(--line); border-radius: 6px; background: var(--paper); color: inherit; }
button { font: inherit; min-width: 32px; padding: 4px 10px; border: 1px solid var(--line); border-radius: 6px; background: var(--card); color: inherit; cursor: pointer; }
button:hover { border-color: var(--near); } button[aria-pressed=true] { border-color: var(--near); box-shadow: inset 0 0 0 1px var(--near); }
:focus-visible { outline: 2px solid var(--near); outline-offset: 1px; }
#found { min-width: 76px; color: var(--soft); font-size: 13px; }
.legend { display: flex; flex-wrap: wrap; gap: 6px; }
.legend button { display: flex; align-items: center; gap: 6px; font-size: 13px; padding: 3px 9px; }
.legend i { font-style: normal; font-weight: 700; } .legend b { font-weight: 600; }
.mark-hit { color: var(--hit); } .mark-miss { color: var(--miss); } .mark-unknown { color: var(--unknown); } .mark-affected { color: var(--near); }
main { position: relative; flex: 1; min-height: 0; overflow: hidden; }
svg { width: 100%; height: 100%; display: block; cursor: grab; touch-action: none; user-select: none; }
svg.moving { cursor: grabbing; }
.step { cursor: pointer; }
.box { fill: var(--card); stroke: var(--line); stroke-width: 1.2; }
.step.wanted .box { stroke: var(--soft); stroke-width: 1.8; }
.step.affected .box { stroke: var(--near); stroke-width: 2.2; stroke-dasharray: 5 3; }
.bar { fill: var(--unknown); } .hit .bar { fill: var(--hit); } .miss .bar { fill: var(--miss); }
.mark { font-size: 15px; font-weight: 700; text-anchor: middle; fill: var(--unknown); } .hit .mark { fill: var(--hit); } .miss .mark { fill: var(--miss); }
.name { font-weight: 600; fill: var(--ink); font-size: 13.5px; } .package { fill: var(--soft); font-size: 11.5px; }
.edge { fill: none; stroke: var(--edge); stroke-width: 1.3; opacity: .65; }
.many .edge { opacity: .22; } .edge.shortcut { stroke-dasharray: 3 4; opacity: .35; } .many .edge.shortcut { display: none; }
marker path { fill: var(--edge); } #near-end path { fill: var(--near); }
.edge.near { stroke: var(--near); stroke-width: 2; opacity: 1; display: inline; }
.step.near .box { stroke: var(--near); stroke-width: 2; stroke-dasharray: none; } .step.chosen .box { stroke-width: 3; }
.focused .step:not(.near) { opacity: .22; } .focused .edge:not(.near) { opacity: .06; }
.big { display: none; font-weight: 600; font-size: 25px; fill: var(--ink); } .far .big { display: inline; } .farther .big { display: none; }
.far .name, .far .package, .far .mark { display: none; } .far .bar { width: 10px; }
.farther .bar { x: 0; y: 0; width: 210px; height: 42px; opacity: .55; } .far .edge { stroke-width: 2; }
aside { position: absolute; top: 12px; right: 12px; max-height: calc(100% - 24px); width: min(360px, calc(100% - 24px)); overflow: auto; padding: 14px 16px; background: var(--card);
  border: 1px solid var(--line); border-radius: 10px; box-shadow: var(--shade); }
aside[hidden] { display: none; }
aside h2 { font-size: 16px; margin: 0 32px 4px 0; overflow-wrap: anywhere; } aside h3 { font-size: 12px; margin: 14px 0 4px; color: var(--soft); }
aside p { margin: 4px 0; overflow-wrap: anywhere; } aside pre { margin: 0; padding: 8px; white-space: pre-wrap; overflow-wrap: anywhere; background: var(--paper); border-radius: 6px; font-size: 12.5px; }
aside ul { margin: 0; padding: 0; list-style: none; } aside li button { border: 0; background: none; padding: 2px 0; color: var(--near); text-align: left; overflow-wrap: anywhere; }
#close { position: absolute; top: 10px; right: 10px; }
#empty { padding: 40px; text-align: center; color: var(--soft); }`;
