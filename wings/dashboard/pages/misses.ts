// Misses worth fixing: what made steps run again, ranked by the minutes that it cost.
import { type Html, html, NOTHING } from '../../../core/html/html.ts';
import { count, counted } from '../../../core/text/amounts.ts';
import type { Misses, MissRow } from '../api/schemas/misses.ts';
import { ago, duration, percent } from './format.ts';
import { bar, choiceOf, empty, link, table, tile, tiles } from './parts.ts';
import { causeWord } from './words.ts';

const DAYS = ['1', '7', '30', '90'];

export function missesPage(misses: Misses, days: string, now: number): Html {
  const { runs, misses: total, lostMs, causes, moreCauses, readAt } = misses;
  const form = html`<form class="filters" method="get" action="/misses">
${choiceOf('days', 'Days', { all: 'Last 7 days', chosen: days === '7' ? '' : days, choices: DAYS.filter((one) => one !== '7') })}
<button type="submit">Show</button>
</form>`;
  const heading = html`<h1>Misses worth fixing</h1>
<p class="lead">What made steps run again, ranked by the time that it cost. Begin at the top.</p>${form}`;
  if (readAt === undefined) return html`${heading}${reading(days)}`;
  if (causes.length === 0) return html`${heading}${nothing(runs)}`;
  const [worst] = causes;
  const more =
    moreCauses > 0
      ? html`<p class="note">and ${counted(moreCauses, 'cause')} more, which cost less.</p>`
      : NOTHING;
  return html`${heading}
${tiles(
  tile('Lost', duration(lostMs), html`in ${counted(total, 'miss', 'misses')} of ${counted(runs, 'run')}`),
  tile(
    'Costs most',
    worst ? duration(worst.lostMs) : '–',
    worst ? html`${worst.text}, ${percent(worst.share)} of the lost time` : NOTHING,
  ),
)}
<section>${causeTable(causes, now)}${more}</section>`;
}

function reading(days: string): Html {
  return empty(
    'The causes are being read',
    html`<p>There are many of them. <a href="/misses?days=${days}">Look again</a> in a moment.</p>`,
  );
}

function nothing(runs: number): Html {
  return runs === 0
    ? empty(
        'No run has been reported in this time',
        html`<p>Runs of <code>assay run</code> with this server as their remote appear here by themselves. <a href="/setup">Set up a tool</a>.</p>`,
      )
    : empty(
        'No step ran in vain',
        html`<p>${counted(runs, 'run')} in this time, and every step was a hit.</p>`,
      );
}

function causeTable(causes: readonly MissRow[], now: number): Html {
  return table(
    'Causes of misses, by the time that they cost',
    [
      { title: 'Time lost', isNumber: true },
      { title: 'Cause, and what to do' },
      { title: 'Steps', isWide: true },
      { title: 'Times', isNumber: true, isWide: true },
    ],
    causes.map((row) => [
      html`<strong>${duration(row.lostMs)}</strong> <span class="note">${percent(row.share)}</span>${bar([{ share: row.share, tone: 'miss' }])}`,
      html`<strong>${row.text}</strong> ${causeWord(row.cause)} <span class="why">${row.whatToDo}</span> <span class="note">For example ${link(`/runs/${encodeURIComponent(row.example.run)}`, row.example.step)}, ${ago(row.example.at, now)}</span>`,
      steps(row),
      html`${count(row.count)}`,
    ]),
  );
}

function steps({ steps: all }: MissRow): Html {
  const items = all.map(
    ({ step, repository, lostMs }) =>
      html`<li>${step} <span class="faint">${repository === undefined ? NOTHING : html`${repository}, `}<span class="whole">${duration(lostMs)}</span></span></li>`,
  );
  return html`<ul class="tree">${items}</ul>`;
}
