// The style of the audit page: one column, light or dark as the reader's system, no wider than the window.

export const AUDIT_STYLE = `
:root { color-scheme: light dark; --ink: #1c2024; --faint: #5b6570; --paper: #fbfbf9; --card: #fff; --line: #dcdfe3;
  --good: #1a6b3c; --bad: #a3271c; --note: #7a5300; --mark: #eef1f4; --link: #0b5cad; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ea; --faint: #9aa4ae; --paper: #14171a; --card: #1c2024;
  --line: #343a41; --good: #6fce93; --bad: #ff8f80; --note: #e8bd66; --mark: #262c32; --link: #7db8f5; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem clamp(1rem, 4vw, 3rem) 4rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: .2rem 0 .8rem; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .8rem; padding-bottom: .3rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 0 0 .6rem; }
p { margin: .2rem 0; }
code, pre, .path, .kind { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .9em; }
pre { margin: 0; padding: .7rem .9rem; background: var(--mark); border-radius: .4rem; white-space: pre-wrap; }
pre.command { max-height: 12rem; overflow: auto; }
.brand { color: var(--faint); font-weight: 600; letter-spacing: .04em; }
.declared { color: var(--good); } .observed, .left h3 { color: var(--note); } .bad, .unproven, .fix h3 { color: var(--bad); }
.gap { color: var(--bad); }
.facts, .faint, .who, .number { color: var(--faint); font-size: .875rem; }
.number { font-weight: 400; }
.facts { margin-top: .6rem; }
nav { display: flex; flex-wrap: wrap; gap: .4rem 1.2rem; margin-top: 1rem; }
a { color: var(--link); }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 2px; }
.group { margin: 0 0 1.2rem; padding: 1rem 1.1rem; background: var(--card); border: 1px solid var(--line);
  border-radius: .6rem; }
ul { margin: 0; padding: 0; list-style: none; }
.findings > li { padding: .6rem 0; border-top: 1px solid var(--line); }
.findings > li:first-child { border-top: 0; padding-top: 0; }
.findings > li:last-child { padding-bottom: 0; }
.findings .findings { margin: .5rem 0 0 1.1rem; }
.kind { display: inline-block; padding: 0 .45rem; background: var(--mark); border-radius: .3rem; }
.what .path, summary .what { font-weight: 600; }
.mend { color: var(--good); } .mend code { display: inline-block; font-size: .875rem; }
.none { color: var(--good); }
.tree .tree { margin-left: .45rem; padding-left: 1rem; border-left: 1px solid var(--line); }
.tree li { padding: .15rem 0; }
.argv { margin: .3rem 0 .5rem; font-size: .8rem; }
summary { cursor: pointer; padding: .1rem 0; }
#files > details { margin-bottom: 1rem; }
table { width: 100%; border-collapse: collapse; table-layout: fixed; margin-top: .4rem; }
th, td { padding: .3rem .6rem .3rem 0; border-top: 1px solid var(--line); text-align: left; vertical-align: top;
  font-weight: 400; }
tr:first-child > * { border-top: 0; }
td { width: 34%; color: var(--faint); } td.bad { color: var(--bad); }
@media print { nav { display: none; } body { max-width: none; } }
`;
