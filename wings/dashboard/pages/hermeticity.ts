// Hermeticity: how well each step of the fleet is proven, what was found, and keys with two results.
import type { EvidenceStatus } from '../../../core/evidence.ts';
import { type Html, html, NOTHING } from '../../../core/html/html.ts';
import { count, counted } from '../../../core/text/amounts.ts';
import type { FindingRow, Hermeticity, HermeticStep } from '../api/schemas/hermeticity.ts';
import { divergenceCard } from './divergence.ts';
import { ago } from './format.ts';
import { badge, bar, copyable, empty, link, section, table } from './parts.ts';
import { STATUS_MEANING, STATUS_TONES, statusWord } from './words.ts';

const STATUSES: readonly EvidenceStatus[] = ['declared', 'observed', 'unwatched', 'unproven'];

/** A browser takes long for a table of a thousand rows. The API has more. */
const SHOWN_STEPS = 200;
const SHOWN_FINDINGS = 50;

export function hermeticityPage(all: Hermeticity, now: number): Html {
  const { counts, steps, moreSteps, findings } = all;
  const total = STATUSES.reduce((sum, status) => sum + counts[status], 0);
  const heading = html`<h1>Hermeticity</h1>
<p class="lead">Whether a result depends on more than its step declares. A hit of a proven step is right on every machine.</p>`;
  if (all.stepsReadAt === undefined)
    return html`${heading}${empty(
      'The steps are being read',
      html`<p>This server reads the newest run of every step. <a href="/hermeticity">Look again</a> in a moment.</p>`,
    )}${divergenceList(all, now)}`;
  if (total === 0 && all.divergences.length === 0)
    return html`${heading}${empty(
      'No step has been watched yet',
      html`<p><code>assay run</code> watches each command, and reports what it found to this server. <a href="/setup">Set up a tool</a>.</p>`,
    )}`;
  return html`${heading}
${overview(counts, total)}
<p class="note">Read ${ago(all.stepsReadAt, now)}.</p>
${divergenceList(all, now)}
${findingList(findings.slice(0, SHOWN_FINDINGS), now)}
${stepTable(steps.slice(0, SHOWN_STEPS), moreSteps + Math.max(0, steps.length - SHOWN_STEPS), now)}`;
}

function overview(counts: Hermeticity['counts'], total: number): Html {
  const parts = STATUSES.map((status) => ({
    share: total === 0 ? 0 : counts[status] / total,
    tone: STATUS_TONES[status],
  }));
  const legend = STATUSES.map(
    (status) =>
      html`<li><svg viewBox="0 0 8 8" aria-hidden="true"><rect class="${STATUS_TONES[status]}" width="8" height="8"/></svg><strong>${count(counts[status])} ${status}</strong>: ${STATUS_MEANING[status]}</li>`,
  );
  return html`<section><h2>${counted(total, 'step')}, by their newest run</h2>${bar(parts)}<ul class="legend">${legend}</ul></section>`;
}

function divergenceList(
  { divergences: rows, moreDivergences, divergencesReadAt: readAt }: Hermeticity,
  now: number,
): Html {
  const none =
    readAt === undefined
      ? html`<p class="faint">The server is reading its store for keys with two results. <a href="/hermeticity">Look again</a> in a moment.</p>`
      : html`<p class="faint">No key has two results. Read ${ago(readAt, now)}.</p>`;
  if (rows.length === 0) return section('Two results for one key', none, 'divergences');
  const note = moreDivergences
    ? html`<p class="note">There are more: <code>assay divergences</code> lists them.</p>`
    : NOTHING;
  return section(
    'Two results for one key',
    html`<ul class="plain-list">${rows.map((row) => html`<li class="card">${divergenceCard(row, now)}</li>`)}</ul>${note}`,
    'divergences',
  );
}

function findingList(rows: readonly FindingRow[], now: number): Html {
  if (rows.length === 0) return section('Newest findings', html`<p class="faint">Nothing was found.</p>`);
  return section(
    'Newest findings',
    table(
      'Newest findings',
      [
        { title: 'Step' },
        { title: 'Finding' },
        { title: 'Line to write' },
        { title: 'When', isNumber: true },
      ],
      rows.map(({ step, repository, kind, path, detail, at, run, lineToWrite }) => [
        html`${link(`/runs/${encodeURIComponent(run)}`, step)}<span class="note">${repository}</span>`,
        html`${badge('warn', kind)} <code>${path}</code> <span class="why">${detail}</span>`,
        lineToWrite === undefined ? NOTHING : copyable(lineToWrite, `the line for ${step}`),
        ago(at, now),
      ]),
    ),
  );
}

function stepTable(rows: readonly HermeticStep[], more: number, now: number): Html {
  if (rows.length === 0) return NOTHING;
  const note =
    more > 0
      ? html`<p class="note">and ${counted(more, 'step')} more, better proven or without findings: <a href="/api/v1/hermeticity">as JSON</a>.</p>`
      : NOTHING;
  return section(
    'All steps, the least proven first',
    html`${table(
      'All steps, the least proven first',
      [
        { title: 'Status' },
        { title: 'Step' },
        { title: 'Namespace', isWide: true },
        { title: 'Findings', isNumber: true },
        { title: 'Newest run', isNumber: true },
      ],
      rows.map(({ status, step, repository, namespace, findings, run, at }) => [
        statusWord(status),
        html`${link(`/runs/${encodeURIComponent(run)}`, step)}<span class="note">${repository}</span>`,
        html`<code>${namespace === '' ? '(default)' : namespace}</code>`,
        html`${count(findings)}`,
        ago(at, now),
      ]),
    )}${note}`,
  );
}
