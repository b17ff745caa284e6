// A graph as one self-contained HTML page that loads nothing. Names, commands and paths are data: the
// Content-Security-Policy allows only the page's own script and style.
import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import type { Step } from '../../config/step.ts';
import { BOX, layoutOf } from './layout.ts';
import { SCRIPT } from './script.ts';
import { STYLE } from './style.ts';

interface DrawnGraph {
  /** Dependencies first. */
  readonly order: readonly Step[];
  readonly wanted: ReadonlySet<string>;
}

/** What would happen to a step, and why. */
interface DrawnForecast {
  readonly outcome: 'hit-local' | 'hit-remote' | 'miss' | 'unknown';
  readonly why: string;
}

interface PageOptions {
  readonly root: string;
  /** The forecast of --dry-run, by step. */
  readonly forecasts: ReadonlyMap<string, DrawnForecast>;
  /** The commit of --affected: "" for the main branch; undefined without the flag. */
  readonly affectedSince: string | undefined;
  readonly now: Date;
}

type State = 'hit' | 'miss' | 'unknown';

const SAYS: Readonly<Record<State, string>> = { hit: 'hit', miss: 'would run', unknown: 'not known yet' };

export function graphPage({ order, wanted }: DrawnGraph, options: PageOptions): string {
  const { root, forecasts, affectedSince, now } = options;
  const { places, edges, width, height } = layoutOf(order);
  const steps = order.map((step, at) => {
    const forecast = forecasts.get(step.id);
    const state = stateOf(forecast);
    return {
      id: step.id,
      name: step.name,
      package: step.package,
      command: shownCommand(step.command),
      outputs: step.outputs,
      implied: step.implied.map(({ read, maker }) => ({ read, maker })),
      state,
      says: `${SAYS[state]}${forecast ? `: ${forecast.why}` : ''}`,
      wanted: wanted.has(step.id),
      affected: affectedSince !== undefined && wanted.has(step.id),
      ...places[at],
    };
  });
  const count = (state: State) => steps.filter((step) => step.state === state).length;
  const affected = steps.filter((step) => step.affected).length;
  const title = `Steps of ${basename(root)}`;
  const data = JSON.stringify({ steps, edges, box: BOX, width, height });
  const legend = [
    legendEntry('hit', '✓', 'hit', count('hit')),
    legendEntry('miss', '↻', 'would run', count('miss')),
    ...(count('unknown') > 0 ? [legendEntry('unknown', '?', 'not known yet', count('unknown'))] : []),
    ...(affectedSince === undefined
      ? []
      : [legendEntry('affected', '┅', `affected since ${affectedSince || 'the main branch'}`, affected)]),
  ];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src '${digestOf(SCRIPT)}'; style-src '${digestOf(STYLE)}'">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<h1>${escaped(title)}<small>${order.length === 1 ? '1 step' : `${order.length} steps`}, ${now.toISOString().slice(0, 16).replace('T', ' ')} UTC</small></h1>
<div class="legend" role="group" aria-label="Legend">${legend.join('')}</div>
<div class="tools">
<span id="found" role="status"></span>
<input type="search" id="search" placeholder="Search steps ( / )" aria-label="Search steps">
<button id="out" aria-label="Zoom out" title="Zoom out ( - )">−</button><button id="in" aria-label="Zoom in" title="Zoom in ( + )">+</button><button id="fit" title="Show all ( 0 )">Fit</button>
</div>
</header>
<main>
<svg role="group" aria-label="${escaped(title)}"><defs>${arrow('end')}${arrow('near-end')}</defs><g id="view"></g></svg>
<aside id="panel" hidden></aside>
${order.length === 0 ? '<p id="empty">There are no steps to show.</p>' : ''}
<noscript><p id="empty">This page draws itself with JavaScript.</p></noscript>
</main>
<script type="application/json" id="data">${data.replaceAll('<', '\\u003c')}</script>
<script>${SCRIPT}</script>
</body>
</html>
`;
}

function stateOf(forecast: DrawnForecast | undefined): State {
  if (!forecast || forecast.outcome === 'unknown') return 'unknown';
  return forecast.outcome === 'miss' ? 'miss' : 'hit';
}

/** `sh -c LINE` is shown as LINE. */
function shownCommand(command: readonly string[]): string {
  const [shell, flag, line] = command;
  return shell === 'sh' && flag === '-c' && line !== undefined && command.length === 3
    ? line
    : command.join(' ');
}

function legendEntry(kind: State | 'affected', mark: string, text: string, count: number): string {
  return `<button data-kind="${kind}" aria-pressed="false"><i class="mark-${kind}">${mark}</i>${escaped(text)} <b>${count}</b></button>`;
}

function arrow(id: string): string {
  return `<marker id="${id}" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="7" markerHeight="7" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z"/></marker>`;
}

function digestOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
