// Trends: week by week, whether the cache helps more, and what costs time: slower and flaky steps, branches, pull requests.
import { type Html, html, NOTHING } from '../../../core/html/html.ts';
import { bytes, count, counted } from '../../../core/text/amounts.ts';
import type {
  BranchTrend,
  FlakyStep,
  PullRequests,
  PullRequestTrend,
  RunTotals,
  SlowerStep,
  StepTotals,
  StepTrend,
  TimedCommit,
  Trends,
  TrendWeek,
} from '../api/schemas/trends.ts';
import { ago, duration, percent, short } from './format.ts';
import { bar, choiceOf, empty, link, section, table, tile, tiles } from './parts.ts';

/** The filters as the address has them. */
export interface TrendsFilter {
  readonly repository?: string;
  readonly branch?: string;
  readonly step?: string;
  readonly namespace?: string;
}

export const TREND_FILTERS = ['repository', 'branch', 'step', 'namespace'] as const;

export function trendsPage(trends: Trends, query: TrendsFilter, now: number): Html {
  const heading = html`<h1>Trends</h1>
<p class="lead">Whether the cache helps more from week to week, and what costs time. Runs of <code>assay run</code> count, by step. <em>Spent</em> is what their commands took.</p>
${filterForm(trends, query)}`;
  if (trends.readAt === undefined) return html`${heading}${reading(query)}`;
  const total = trends.weeks.reduce((sum, { hits, misses, failed }) => sum + hits + misses + failed, 0);
  if (total === 0) return html`${heading}${nothing(query)}`;
  return html`${heading}
${changes(trends.weeks)}
${weekTable(trends.weeks, query)}
${times(trends.times)}
${slower(trends.slower, now)}
${flaky(trends.flaky, now)}
${query.step === undefined ? steps(trends, query) : NOTHING}
${pullRequests(trends.pullRequests, query, now)}
${branches(trends, query, now)}`;
}

function address(query: TrendsFilter): string {
  const given = TREND_FILTERS.flatMap((name) => {
    const value = query[name];
    return value === undefined || value === '' ? [] : [[name, value]];
  });
  const text = new URLSearchParams(given).toString();
  return text === '' ? '/runs/trends' : `/runs/trends?${text}`;
}

function filterForm(
  { choices }: Trends,
  { repository = '', branch = '', step = '', namespace }: TrendsFilter,
): Html {
  const place =
    namespace === undefined
      ? NOTHING
      : html`<label>Namespace<input name="namespace" value="${namespace}"></label>`;
  return html`<form class="filters" method="get" action="/runs/trends">
${choiceOf('repository', 'Repository', { all: 'All repositories', chosen: repository, choices: choices.repositories })}
${choiceOf('branch', 'Branch', { all: 'All branches', chosen: branch, choices: choices.branches })}
<label>Step<input name="step" value="${step}" placeholder="any, or its whole name"></label>
${place}
<button type="submit">Show</button>
</form>`;
}

function reading(query: TrendsFilter): Html {
  return empty(
    'The runs are being read',
    html`<p>There are many of them. <a href="${address(query)}">Look again</a> in a moment.</p>`,
  );
}

function nothing(query: TrendsFilter): Html {
  if (Object.keys(query).length > 0)
    return empty(
      'No run is like that',
      html`<p>Choose less, or <a href="/runs/trends">show all runs</a>.</p>`,
    );
  return empty(
    'No run has been reported in this time',
    html`<p>Runs of <code>assay run</code> with this server as their remote appear here by themselves. <a href="/setup">Set up a tool</a>.</p>`,
  );
}

/** Of weeks that have steps: the newest one, and the one before. */
function changes(weeks: readonly TrendWeek[]): Html {
  const [week, before] = weeks.filter(({ hits, misses, failed }) => hits + misses + failed > 0).reverse();
  if (!week) return NOTHING;
  const name = week === weeks.at(-1) ? 'this week' : `in the week of ${dayOf(week)}`;
  const rate = (title: string, read: (one: TrendWeek) => StepTotals) =>
    read(week).hitRate === undefined
      ? NOTHING
      : tile(title, rateOf(read(week)), change(read(week).hitRate, before && read(before).hitRate));
  return tiles(
    rate(`Hit rate of main ${name}`, ({ main }) => main),
    rate('Of pull requests', ({ pullRequests: own }) => own),
    rate('Of other branches', ({ others }) => others),
    tile(
      'Saved',
      duration(week.savedMs),
      before ? html`${duration(before.savedMs)} in the week before` : NOTHING,
    ),
    week.medianMs === undefined || week.p95Ms === undefined
      ? NOTHING
      : tile(
          'Half of its runs took at most',
          duration(week.medianMs),
          html`19 of 20 at most ${duration(week.p95Ms)}`,
        ),
  );
}

function change(rate: number | undefined, before: number | undefined): Html {
  if (rate === undefined || before === undefined) return NOTHING;
  const points = Math.round((rate - before) * 100);
  if (points === 0) return html`the same as in the week before`;
  return html`${counted(Math.abs(points), 'point')} ${points > 0 ? 'more' : 'less'} than in the week before`;
}

function rateOf({ hitRate }: StepTotals): string {
  return hitRate === undefined ? '–' : percent(hitRate);
}

function dayOf({ from }: TrendWeek): string {
  return from.slice(0, 10);
}

/** Without the weeks before the first one that has steps. */
function weekTable(weeks: readonly TrendWeek[], { step }: TrendsFilter): Html {
  const first = weeks.findIndex(({ hits, misses, failed }) => hits + misses + failed > 0);
  const quantiles =
    step === undefined
      ? []
      : [
          { title: 'Median', isNumber: true },
          { title: '95 %', isNumber: true },
        ];
  return section(
    'Week by week',
    table(
      'Weeks, the newest first',
      [
        { title: 'Week of' },
        { title: 'Hits, ran, failed' },
        { title: 'Main', isNumber: true },
        { title: 'Pull requests', isNumber: true },
        { title: 'Others', isNumber: true, isWide: true },
        ...quantiles,
        { title: 'Saved', isNumber: true },
        { title: 'Spent', isNumber: true, isWide: true },
        { title: 'Runs', isNumber: true, isWide: true },
      ],
      weeks
        .slice(first)
        .reverse()
        .map((week) => [
          html`<span class="whole">${dayOf(week)}</span>`,
          outcomes(week),
          html`${rateOf(week.main)}`,
          html`${rateOf(week.pullRequests)}`,
          html`${rateOf(week.others)}`,
          ...(step === undefined ? [] : [time(week.medianMs), time(week.p95Ms)]),
          time(week.savedMs),
          time(week.ranMs),
          html`${count(week.runs)}`,
        ]),
    ),
  );
}

function time(milliseconds: number | undefined): Html {
  return milliseconds === undefined ? html`–` : html`<span class="whole">${duration(milliseconds)}</span>`;
}

function outcomes({ hits, misses, failed }: StepTotals): Html {
  const total = hits + misses + failed;
  if (total === 0) return html`–`;
  const words = [
    `${count(hits)} hit`,
    `${count(misses)} ran`,
    ...(failed > 0 ? [`${count(failed)} failed`] : []),
  ];
  const parts = [
    { share: hits / total, tone: 'hit' },
    { share: misses / total, tone: 'miss' },
    { share: failed / total, tone: 'failed' },
  ];
  return html`${words.join(', ')}${bar(parts)}`;
}

function runLink({ run }: { readonly run: string }, text: Html): Html {
  return link(`/runs/${encodeURIComponent(run)}`, text);
}

/** A step with a link to its own trends. */
function named({ step, repository }: { readonly step: string; readonly repository?: string }): Html {
  const place = repository === undefined ? NOTHING : html` <span class="note">${repository}</span>`;
  const query = { ...(repository !== undefined && { repository }), step };
  return html`<strong>${link(address(query), step)}</strong>${place}`;
}

const SHOWN_TIMES = 20;

function times(all: readonly TimedCommit[] = []): Html {
  if (all.length === 0) return NOTHING;
  const longest = Math.max(...all.map(({ commandMs }) => commandMs), 1);
  return section(
    'Its newest runs on the main branch',
    table(
      'Runs of the command on the main branch, the newest first',
      [{ title: 'Commit' }, { title: 'Took' }, { title: 'When (UTC)', isNumber: true }],
      all
        .slice(0, SHOWN_TIMES)
        .map((one) => [
          runLink(one, short(one.commit, 10)),
          html`<span class="whole">${duration(one.commandMs)}</span>${bar([{ share: one.commandMs / longest, tone: 'miss' }])}`,
          html`<span class="whole">${one.at.slice(0, 16).replace('T', ' ')}</span>`,
        ]),
    ),
  );
}

function slower(all: readonly SlowerStep[], now: number): Html {
  if (all.length === 0) return NOTHING;
  return section(
    'Slower since a commit',
    html`${table(
      'Steps that are slower since a commit',
      [{ title: 'Step' }, { title: 'Since' }, { title: 'Took, and takes' }],
      all.map((row) => [
        named(row),
        html`${runLink(row.first, short(row.first.commit, 10))}, ${ago(row.first.at, now)} <span class="note">Last fast: ${runLink(row.last, short(row.last.commit, 10))}</span>`,
        html`<span class="whole">${duration(row.beforeMs)}</span>, now <strong class="whole">${duration(row.afterMs)}</strong> <span class="note">medians of ${count(row.runsBefore)} and ${counted(row.runsAfter, 'run')}</span>`,
      ]),
    )}<p class="note">On the branches main, master and trunk. The step did not run between the two commits. Slower machines since then look the same.</p>`,
    'slower',
  );
}

function flaky(all: readonly FlakyStep[], now: number): Html {
  if (all.length === 0) return NOTHING;
  return section(
    'Flaky: failed and passed with the same key',
    html`${table(
      'Steps that failed and passed with the same key',
      [{ title: 'Step' }, { title: 'Times', isNumber: true }, { title: 'The newest pair' }],
      all.map((row) => [
        named(row),
        html`${count(row.times)}`,
        html`${pair(row, now)} <span class="note">key ${short(row.key)}, in <code>${row.namespace === '' ? '(default)' : row.namespace}</code></span>`,
      ]),
    )}<p class="note">All declared inputs were the same, and nothing else that was compared differed. What a failed command read beyond its inputs is known only if it was run again at once (<code>--retry</code>).</p>`,
    'flaky',
  );
}

function pair({ failed, passed }: FlakyStep, now: number): Html {
  if (failed.run === passed.run)
    return html`${runLink(failed, html`failed with ${failed.exitCode} and passed on a later try`)} ${ago(failed.at, now)}`;
  return html`${runLink(failed, html`failed with ${failed.exitCode}`)} ${ago(failed.at, now)}, ${runLink(passed, html`passed`)} ${ago(passed.at, now)}`;
}

function steps({ steps: all, moreSteps }: Trends, query: TrendsFilter): Html {
  const more =
    moreSteps > 0
      ? html`<p class="note">and ${counted(moreSteps, 'step')} more, which took less.</p>`
      : NOTHING;
  return section(
    'Steps, by the time that they took',
    html`${table(
      'Steps, by the time that their commands took',
      [
        { title: 'Step' },
        { title: 'Hits, ran, failed' },
        { title: 'Hit rate', isNumber: true },
        { title: 'Median', isNumber: true },
        { title: '95 %', isNumber: true },
        { title: 'Saved', isNumber: true, isWide: true },
        { title: 'Spent', isNumber: true },
      ],
      all.map((row) => [
        stepName(row, query),
        outcomes(row),
        html`${rateOf(row)}`,
        time(row.medianMs),
        time(row.p95Ms),
        time(row.savedMs),
        time(row.ranMs),
      ]),
    )}${more}`,
    'steps',
  );
}

function stepName(row: StepTrend, { branch, namespace }: TrendsFilter): Html {
  const { step, repository } = row;
  const place = repository === undefined ? NOTHING : html` <span class="note">${repository}</span>`;
  const query = {
    ...{ step, ...(repository !== undefined && { repository }) },
    ...{ ...(branch !== undefined && { branch }), ...(namespace !== undefined && { namespace }) },
  };
  return html`<strong>${link(address(query), step)}</strong>${place}`;
}

/** What some runs cost, and what they saved. */
const COSTS = [
  { title: 'Hits, ran, failed' },
  { title: 'Saved', isNumber: true },
  { title: 'Spent', isNumber: true },
  { title: 'Moved', isNumber: true, isWide: true },
  { title: 'Runs', isNumber: true, isWide: true },
  { title: 'Last run', isNumber: true },
] as const;

function costs(row: RunTotals, now: number): Html[] {
  const { bytesUp, bytesDown } = row;
  const moved =
    bytesUp === undefined || bytesDown === undefined ? html`–` : html`${bytes(bytesUp + bytesDown)}`;
  return [
    outcomes(row),
    time(row.savedMs),
    time(row.ranMs),
    html`<span class="whole">${moved}</span>`,
    html`${count(row.runs)}`,
    ago(row.lastRunAt, now),
  ];
}

function pullRequests(places: readonly PullRequests[], query: TrendsFilter, now: number): Html {
  if (places.length === 0) return NOTHING;
  return section(
    'What pull requests cost and saved',
    html`${places.map((place) => pullRequestsOf(place, query, now))}`,
    'pull-requests',
  );
}

function pullRequestsOf(place: PullRequests, { step }: TrendsFilter, now: number): Html {
  const { repository, count: all, newest, savedMs, ranMs } = place;
  const asked = step === undefined ? {} : { step };
  const more = all - newest.length;
  const ofAll = html`${link(address({ ...asked, namespace: place.place }), html`<code>${place.place}</code>`)}: ${counted(all, 'pull request')} ran commands for ${duration(ranMs)} and saved ${duration(savedMs)}.`;
  return html`<h3>${repository ?? place.place}</h3><p>${ofAll}</p>
${table(
  `Pull requests of ${repository ?? place.place}, the newest first`,
  [{ title: 'Pull request' }, ...COSTS],
  newest.map((row) => [
    html`${pullRequest(row, asked)}${row.branch === undefined ? NOTHING : html` <span class="note">${row.branch}</span>`}`,
    ...costs(row, now),
  ]),
)}${more > 0 ? html`<p class="note">and ${count(more)} more, which ran before.</p>` : NOTHING}`;
}

/** Without its place. "(other)" is none that can be asked for. */
function pullRequest({ namespace }: PullRequestTrend, asked: TrendsFilter): Html {
  const at = namespace.lastIndexOf('/pr/');
  const name = at === -1 ? namespace : namespace.slice(at + '/pr/'.length);
  return name.startsWith('(') ? html`${name}` : link(address({ ...asked, namespace }), name);
}

function branches({ branches: all, moreBranches }: Trends, query: TrendsFilter, now: number): Html {
  if (all.length === 0) return NOTHING;
  const more =
    moreBranches > 0
      ? html`<p class="note">and ${counted(moreBranches, 'branch', 'branches')} more, which ran before.</p>`
      : NOTHING;
  return section(
    'What branches cost and saved',
    html`${table(
      'Branches, the newest first',
      [{ title: 'Branch' }, ...COSTS],
      all.map((row) => [branchName(row, query), ...costs(row, now)]),
    )}${more}`,
    'branches',
  );
}

function branchName({ branch, repository }: BranchTrend, { step }: TrendsFilter): Html {
  const place = repository === undefined ? NOTHING : html` <span class="note">${repository}</span>`;
  if (branch === undefined) return html`<span class="faint">no branch</span>${place}`;
  const query = {
    ...(repository !== undefined && { repository }),
    branch,
    ...(step !== undefined && { step }),
  };
  return html`${link(address(query), branch)}${place}`;
}
