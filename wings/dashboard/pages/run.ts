// Run: the steps on a timeline, the critical path, and why each step ran.
import { type Html, html, multiline, NOTHING } from '../../../core/html/html.ts';
import { isFlaky } from '../../../core/metadata/run-report.ts';
import { bytes, count, counted } from '../../../core/text/amounts.ts';
import { plainLog } from '../../../core/text/plain-log.ts';
import { mayHaveActions } from '../../../server/request/tools.ts';
import type { TailEvent } from '../api/schemas/parts.ts';
import type { FailedStep, Run } from '../api/schemas/runs.ts';
import { isOfPullRequests, pullRequestOf } from '../pull-requests.ts';
import { ago, duration, short } from './format.ts';
import { callout, empty, link, section, table, tile, tiles, webLink } from './parts.ts';
import { timeline } from './timeline.ts';
import { eventWord, runOutcome, runTitle } from './words.ts';

export function runPage(run: Run, now: number): Html {
  return html`<p class="faint">${link('/runs', 'Runs')} / <code>${run.id}</code></p>
<h1>${runTitle(run)} ${runOutcome(run.outcome)}</h1>
<p class="lead">${origin(run, now)}</p>
${figures(run)}
${run.warnings.map((text) => callout('warn', html`<p>${text}</p>`))}
${failures(run)}
${criticalPath(run)}
${run.stepList.length > 0 ? section('Steps', timeline(run)) : NOTHING}
${run.source === 'grouped' ? lookups(run, now) : NOTHING}`;
}

function origin(run: Run, now: number): Html {
  const { repository, branch, commit, job, identity, tool, toolVersion, startedAt, where, source } = run;
  const parts = [
    repository === undefined ? undefined : html`${repository}`,
    html`${tool}${toolVersion === undefined ? NOTHING : html` ${toolVersion}`}`,
    branch === undefined ? undefined : html`branch ${branch}`,
    commit === undefined ? undefined : html`commit ${short(commit, 10)}`,
    job === undefined ? undefined : webLink(job, 'CI job'),
    job === undefined && where !== undefined ? html`on ${where}` : undefined,
    html`${source === 'grouped' ? 'sent' : 'reported'} by ${identity}`,
    html`started ${ago(startedAt, now)}`,
    isOfPullRequests(run.namespace) ? pullRequestLink(run.namespace) : undefined,
  ].filter((part) => part !== undefined);
  return html`${parts.map((part, index) => (index === 0 ? part : html` · ${part}`))}`;
}

function pullRequestLink(namespace: string): Html {
  return link(
    `/runs/trends?namespace=${encodeURIComponent(pullRequestOf(namespace))}#pull-requests`,
    'what this pull request cost',
  );
}

function figures(run: Run): Html {
  if (run.source === 'grouped') return groupFigures(run);
  const { elapsedMs, savedMs, hits, misses, failed, bytesUp, bytesDown, previous, jobs } = run;
  const failures = failed > 0 ? `, ${count(failed)} failed` : '';
  const flaky = run.stepList.filter(isFlaky).length;
  const flakiness = flaky > 0 ? `, ${count(flaky)} flaky` : '';
  return tiles(
    tile('Took', duration(elapsedMs), previous ? comparison(elapsedMs, previous) : NOTHING),
    tile('Saved', duration(savedMs), 'the time that its hits would have run'),
    tile(
      'Hits',
      html`${count(hits)} of ${count(hits + misses + failed)}`,
      html`${count(misses)} ran${failures}${flakiness}${jobs === undefined ? NOTHING : html`, ${counted(jobs, 'job')} at once`}`,
    ),
    tile('Moved', bytes(bytesDown + bytesUp), html`${bytes(bytesDown)} down, ${bytes(bytesUp)} up`),
  );
}

/** Of the requests of another tool: only what they tell. */
function groupFigures({ elapsedMs, savedMs, hits, misses, tool }: Run): Html {
  return tiles(
    tile('Hits', html`${count(hits)} of ${count(hits + misses)}`, html`${count(misses)} missed`),
    elapsedMs === 0 ? NOTHING : tile('Lasted', duration(elapsedMs), 'from its first request to its last'),
    savedMs > 0
      ? tile('Saved', duration(savedMs), html`as ${tool} says`)
      : tile('Saved', '–', html`${tool} does not tell how long its commands take`),
  );
}

function failures({ failures: shown, failed }: Run): Html {
  if (shown.length === 0) return NOTHING;
  const more = failed - shown.length;
  return section(
    'What failed',
    html`${shown.map(failure)}${more > 0 ? html`<p class="note">${count(more)} more failed. Their logs are not shown.</p>` : NOTHING}`,
  );
}

function failure({ step, exitCode, why, log, isHidden }: FailedStep): Html {
  const title = html`<h3>${step} <span class="faint">exit code ${exitCode}</span></h3>`;
  const note = (text: string) => html`${title}<p class="note">${why}. ${text}</p>`;
  if (isHidden) return note('Your token may not read its log: that needs results:read and blobs:read there.');
  if (!log) return note('It sent no log.');
  if (log.text === undefined) return note('Its log is no longer stored.');
  return html`${title}<pre class="log" tabindex="0" aria-label="The end of the log of ${step}">${multiline(plainLog(log.text))}</pre>`;
}

function comparison(elapsedMs: number, { id, elapsedMs: before }: { id: string; elapsedMs: number }): Html {
  const difference = elapsedMs - before;
  const than = link(`/runs/${encodeURIComponent(id)}`, 'the run before');
  if (Math.abs(difference) < Math.max(100, before / 50)) return html`as long as ${than}`;
  return html`${duration(Math.abs(difference))} ${difference > 0 ? 'longer' : 'shorter'} than ${than}`;
}

function criticalPath({ criticalPath: names, stepList, elapsedMs }: Run): Html {
  const steps = names.flatMap((name) => stepList.find(({ step }) => step === name) ?? []);
  if (steps.length === 0) return NOTHING;
  const sum = steps.reduce((total, { elapsedMs: took }) => total + took, 0);
  /* A later step often runs because of what this one made. */
  const first = steps.find(({ outcome }) => outcome === 'miss' || outcome === 'failed');
  const slowest = steps.reduce((worst, step) => (step.elapsedMs > worst.elapsedMs ? step : worst));
  return section(
    'What took the time',
    html`<ol class="path">${steps.map((step) => html`<li><a href="#step-${stepList.indexOf(step)}">${step.step}</a> <span class="faint">${duration(step.elapsedMs)}</span></li>`)}</ol>
<p class="note">These steps waited for each other: ${duration(sum)} of ${duration(elapsedMs)}. The run gets shorter only if one of them does. <strong>${slowest.step}</strong> took most: ${slowest.why}${first === undefined || first === slowest ? NOTHING : html`. The first that ran is <strong>${first.step}</strong>: ${first.why}`}</p>`,
  );
}

function keyOf({ key, tool, namespace }: TailEvent): Html {
  if (!/^[0-9a-f]{64}$/.test(key)) return short(key, 40);
  if (!mayHaveActions(tool)) return short(key);
  const query = namespace === '' ? '' : `?namespace=${encodeURIComponent(namespace)}`;
  return link(`/action/${key}${query}`, short(key));
}

function lookups(run: Run, now: number): Html {
  const note = html`<p class="faint">${run.tool} does not report its steps. These are its requests that belong together.</p>`;
  if (run.lookups.length === 0)
    return section('Lookups', empty('No lookups', html`<p>This run only wrote results.</p>`));
  return section(
    'Lookups',
    html`${note}${table(
      'Lookups of the run, the newest first',
      [
        { title: 'What' },
        { title: 'Key' },
        { title: 'Namespace', isWide: true },
        { title: 'When', isNumber: true },
      ],
      run.lookups.map((event) => [
        eventWord(event.what),
        keyOf(event),
        html`<code>${event.namespace === '' ? '(default)' : event.namespace}</code>`,
        ago(event.at, now),
      ]),
    )}`,
  );
}
