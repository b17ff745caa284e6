// Runs: what was built, by whom, with how many hits.
import { type Html, html, NOTHING } from '../../../core/html/html.ts';
import { count } from '../../../core/text/amounts.ts';
import type { RunRow } from '../api/schemas/parts.ts';
import type { Runs } from '../api/schemas/runs.ts';
import { ago, duration, short } from './format.ts';
import { bar, choiceOf, empty, link, table } from './parts.ts';
import { RUN_OUTCOMES, runOutcome, runTitle } from './words.ts';

/** The filters as the address has them. */
export interface RunsFilter {
  readonly repository?: string;
  readonly branch?: string;
  readonly step?: string;
  readonly outcome?: string;
  readonly tool?: string;
  readonly namespace?: string;
  /** YYYY-MM-DD. */
  readonly until?: string;
  readonly before?: string;
}

export function runsPage(runs: Runs, query: RunsFilter, now: number): Html {
  const { before, ...filters } = query;
  const isFiltered = Object.values(filters).some(Boolean);
  if (runs.runs.length === 0 && !isFiltered && before === undefined) return html`${heading()}${noRuns()}`;
  const rows =
    runs.runs.length === 0
      ? empty('No run is like that', html`<p>Choose less, or <a href="/runs">show all runs</a>.</p>`)
      : runRows(runs.runs, now);
  const first = before === undefined ? NOTHING : html`<a href="${address(filters)}">Newest runs</a> `;
  const next =
    runs.next === undefined
      ? NOTHING
      : html`<a href="${address({ ...filters, before: runs.next })}">Older runs</a>`;
  return html`${heading()}${filterForm(runs, query)}${rows}<p class="filters">${first}${next}</p>`;
}

function heading(): Html {
  return html`<h1>Runs</h1><p class="lead">What was built with this cache, the newest first. A run shows why each step ran.</p>`;
}

function noRuns(): Html {
  return empty(
    'No run has been reported yet',
    html`<p><code>assay run</code> reports here by itself when this server is its remote and its token may write runs. Other tools are listed by what they send. <a href="/setup">Set up a tool</a>.</p>`,
  );
}

function address(filters: RunsFilter): string {
  const entries = Object.entries(filters).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(entries.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? '/runs' : `/runs?${text}`;
}

function filterForm({ choices }: Runs, query: RunsFilter): Html {
  const {
    repository = '',
    branch = '',
    step = '',
    outcome = '',
    tool = '',
    namespace = '',
    until = '',
  } = query;
  return html`<form class="filters" method="get" action="/runs">
${choiceOf('repository', 'Repository', { all: 'All repositories', chosen: repository, choices: choices.repositories })}
${choiceOf('branch', 'Branch', { all: 'All branches', chosen: branch, choices: choices.branches })}
${choiceOf('tool', 'Tool', { all: 'All tools', chosen: tool, choices: choices.tools })}
${choiceOf('outcome', 'Outcome', { all: 'All outcomes', chosen: outcome, choices: RUN_OUTCOMES })}
${choices.namespaces.length > 1 || namespace !== '' ? choiceOf('namespace', 'Namespace', { all: 'All namespaces', chosen: namespace, choices: choices.namespaces }) : NOTHING}
<label>Step<input name="step" value="${step}" placeholder="any, or a part of its name"></label>
<label>Until the day (UTC)<input type="date" name="until" value="${until}"></label>
<button type="submit">Show</button>
</form>
<form class="filters" method="get" action="/runs">
<label>Run or action<input name="find" required pattern="\\s*([0-9a-f]{32}|[0-9a-f]{64})\\s*" placeholder="its id, or the key of an action" size="40"></label>
<button type="submit">Open</button>
</form>`;
}

export function runRows(runs: readonly RunRow[], now: number): Html {
  return table(
    'Runs, the newest first',
    [
      { title: 'Outcome' },
      { title: 'What' },
      { title: 'Tool', isWide: true },
      { title: 'Steps or lookups' },
      { title: 'Took', isNumber: true },
      { title: 'Saved', isNumber: true, isWide: true },
      { title: 'Started', isNumber: true },
    ],
    runs.map((run) => [
      runOutcome(run.outcome),
      what(run),
      html`${run.tool}${run.toolVersion === undefined ? NOTHING : html` <span class="faint">${run.toolVersion}</span>`}`,
      steps(run),
      known(run, run.elapsedMs),
      known(run, run.savedMs),
      ago(run.startedAt, now),
    ]),
  );
}

/** Of the requests of another tool, 0 means that they do not tell. */
function known({ source }: RunRow, milliseconds: number): Html {
  if (source === 'grouped' && milliseconds === 0) return html`–`;
  return html`<span class="whole">${duration(milliseconds)}</span>`;
}

function what(run: RunRow): Html {
  const place = [
    run.ran === undefined ? undefined : repositoryOf(run),
    run.branch === undefined ? undefined : html`${run.branch}`,
    run.commit === undefined ? undefined : short(run.commit, 8),
    html`${run.identity}`,
  ].filter((one) => one !== undefined);
  const note = place.map((one, index) => (index === 0 ? one : html` · ${one}`));
  return html`${link(`/runs/${encodeURIComponent(run.id)}`, runTitle(run))} <span class="note">${note}</span>`;
}

/** Without a repository, the machine. */
function repositoryOf({ repository, where }: RunRow): Html | undefined {
  const name = repository ?? where;
  return name === undefined ? undefined : html`${name}`;
}

function steps({ hits, misses, failed, source }: RunRow): Html {
  const total = hits + misses + failed;
  if (total === 0) return html`–`;
  const parts = [
    { share: hits / total, tone: 'hit' },
    { share: misses / total, tone: 'miss' },
    { share: failed / total, tone: 'failed' },
  ];
  const words = [
    `${count(hits)} hit`,
    `${count(misses)} ${source === 'grouped' ? 'missed' : 'ran'}`,
    ...(failed > 0 ? [`${count(failed)} failed`] : []),
  ];
  return html`${words.join(', ')}${bar(parts)}`;
}
