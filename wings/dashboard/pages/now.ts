// Now: one sentence of health, today beside the same weekday before, warnings, and what is happening.
import { type Html, html, NOTHING } from '../../../core/html/html.ts';
import { bytes, count, counted } from '../../../core/text/amounts.ts';
import type { FigurePoint, Figures, Now, Tail, Totals } from '../api/schemas/now.ts';
import { ago, duration, percent, short, weekday } from './format.ts';
import { callout, empty, link, section, sentence, table, tile, tiles } from './parts.ts';
import { runRows } from './runs.ts';
import { eventWord } from './words.ts';

export function nowPage(now: Now): Html {
  const at = Date.parse(now.at);
  const isNew = now.today.requests === 0 && now.tail.events.length === 0 && now.newestRuns.length === 0;
  return html`<h1 class="health ${now.health.status}">${now.health.sentence}</h1>
${now.warnings.map(({ text, whatToDo }) => callout('warn', html`<p><strong>${text}</strong></p><p>${sentence(whatToDo)}</p>`))}
${isNew ? nothingYet(now.isWhole) : html`${today(now, at)}${history(now.figures)}${newest(now, at)}${tail(now.tail, at)}`}`;
}

function nothingYet(isWhole: boolean): Html {
  if (!isWhole)
    return empty(
      'Nothing is to be seen here yet',
      html`<p>Nobody has asked for anything in the namespaces that your token sees. A token with the right <code>overview</code> also sees the runs and figures of everything below its namespace. <a href="/setup">Set up a tool</a>: it takes one line.</p>`,
    );
  return empty(
    'Nobody has asked this server yet',
    html`<p>When the first build uses it, this page shows how often it helped, and how much time it saved. <a href="/setup">Set up a tool</a>: it takes one line.</p>`,
  );
}

function today({ today: totals, weekBefore }: Now, at: number): Html {
  const day = `last ${weekday(at)}`;
  const { hits, misses, hitRate, savedMs, requests, errors, bytesSent, bytesReceived, runs, leases } = totals;
  return tiles(
    tile(
      'Hit rate today',
      hitRate === undefined ? '–' : percent(hitRate),
      html`${counted(hits, 'hit')} of ${counted(hits + misses, 'lookup')}${points(totals, weekBefore, day)}`,
    ),
    tile(
      'Time saved today',
      duration(savedMs),
      html`in ${counted(runs, 'run')}; ${duration(weekBefore.savedMs)} by this hour ${day}`,
    ),
    tile(
      'Requests today',
      count(requests),
      html`${counted(errors, 'error')}; ${count(weekBefore.requests)} by this hour ${day}`,
    ),
    bytesSent === undefined
      ? NOTHING
      : tile('Sent today', bytes(bytesSent), html`${bytes(bytesReceived ?? 0)} received`),
    leases === undefined
      ? NOTHING
      : tile(
          'Not run twice today',
          counted(leases.waited, 'time'),
          html`${duration(leases.savedMs)} of commands; ${counted(leases.hedged, 'wait')} given up, ${counted(leases.expired, 'holder')} died`,
        ),
  );
}

function points(totals: Totals, before: Totals, day: string): Html {
  if (totals.hitRate === undefined || before.hitRate === undefined) return NOTHING;
  const difference = Math.round((totals.hitRate - before.hitRate) * 100);
  if (difference === 0) return html`; the same as ${day}`;
  const direction = difference > 0 ? 'more' : 'less';
  return html`; ${counted(Math.abs(difference), 'point')} ${direction} than ${day}`;
}

/** Minutes are too many to draw and to read: each point of the chart has this width. */
const CHART_STEP_MS = 15 * 60_000;
const TABLE_STEP_MS = 60 * 60_000;

function history(figures: Figures): Html {
  const drawn = widened(figures, CHART_STEP_MS);
  if (drawn.every(({ hits, misses }) => hits + misses === 0)) return NOTHING;
  const data = {
    x: drawn.map(({ at }) => at / 1000),
    hits: drawn.map(({ hits }) => hits),
    misses: drawn.map(({ misses }) => misses),
  };
  const rows = widened(figures, TABLE_STEP_MS).filter(({ hits, misses }) => hits + misses > 0);
  const numbers = table(
    'Hits and misses by the hour',
    [
      { title: 'Hour' },
      { title: 'Hits', isNumber: true },
      { title: 'Misses', isNumber: true },
      { title: 'Hit rate', isNumber: true },
    ],
    rows.map(({ at, hits, misses }) => [
      html`${new Date(at).toISOString().slice(11, 16)}`,
      html`${count(hits)}`,
      html`${count(misses)}`,
      html`${percent(hits / (hits + misses))}`,
    ]),
  );
  return section(
    'The last 24 hours (UTC)',
    html`<figure>
<div class="chart" data-chart="${JSON.stringify(data)}" role="img" aria-label="Hits and misses over the last 24 hours. The table below has the numbers." hidden></div>
<details><summary>The numbers by the hour</summary>${numbers}</details>
</figure>`,
  );
}

/** Adds up neighbouring points, so that each covers `stepMs`. */
function widened({ points: all }: Figures, stepMs: number): { at: number; hits: number; misses: number }[] {
  const start = (point: FigurePoint) => Math.floor(Date.parse(point.at) / stepMs) * stepMs;
  return [...Map.groupBy(all, start)].map(([at, group]) => ({
    at,
    hits: group.reduce((sum, { hits }) => sum + hits, 0),
    misses: group.reduce((sum, { misses }) => sum + misses, 0),
  }));
}

function newest({ newestRuns }: Now, at: number): Html {
  if (newestRuns.length === 0) return NOTHING;
  return section('Newest runs', html`${runRows(newestRuns, at)}<p>${link('/runs', 'All runs')}</p>`);
}

/** The live list shows as many. */
const SHOWN_EVENTS = 10;

function tail({ events, position }: Tail, at: number): Html {
  const rows = events
    .slice(0, SHOWN_EVENTS)
    .map((event) => [
      eventWord(event.what),
      html`${event.tool}`,
      event.run === undefined
        ? short(event.key)
        : link(`/runs/${encodeURIComponent(event.run)}`, short(event.key)),
      html`<code>${event.namespace === '' ? '(default)' : event.namespace}</code>`,
      html`${event.identity}`,
      ago(event.at, at),
    ]);
  const none =
    rows.length === 0
      ? html`<p class="faint" data-no-events>Nothing has been asked since this server started. New requests appear here by themselves.</p>`
      : NOTHING;
  return section(
    'Live',
    html`<p class="faint">Lookups and writes of results on this node, the newest first. <button type="button" hidden data-pause aria-pressed="false">Pause</button></p>
<div data-tail="${position}">${table(
      'Newest lookups and writes',
      [
        { title: 'What' },
        { title: 'Tool' },
        { title: 'Key' },
        { title: 'Namespace', isWide: true },
        { title: 'Token', isWide: true },
        { title: 'When', isNumber: true },
      ],
      rows,
    )}${none}</div>`,
    'live',
  );
}
