// The steps of a run as a table with a bar for each: when it began, how long it waited and ran. The bars are
// drawn on the server, so they need no script.
import { type Html, html, NOTHING, type Value } from '../../../core/html/html.ts';
import { isFlaky } from '../../../core/metadata/run-report.ts';
import type { ReportedFacts } from '../../../core/metadata/run-report-schema.ts';
import { bytes, counted } from '../../../core/text/amounts.ts';
import type { Run, RunStep } from '../api/schemas/runs.ts';
import { duration } from './format.ts';
import { badge, copyable, link } from './parts.ts';
import { STEP_TONES, statusWord, stepOutcome } from './words.ts';

const WIDTH = 1000;

/** The shortest bar that can be seen. */
const SHORTEST = 4;

export function timeline({ stepList, elapsedMs }: Run): Html {
  const end = Math.max(elapsedMs, ...stepList.map(({ startMs, elapsedMs: took }) => startMs + took), 1);
  const rows = stepList.map((step, index) => row(step, index, end));
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Steps in the order of their start"><table class="timeline"><caption class="hidden">Steps in the order of their start</caption>
<thead><tr><th scope="col">Step</th><th scope="col" class="track">From 0 s to ${duration(end)}</th><th scope="col" class="number">Took</th></tr></thead>
<tbody>${rows}</tbody></table></div>
<ul class="legend">
<li>${swatch('hit')}hit</li><li>${swatch('miss')}ran</li><li>${swatch('failed')}failed</li><li>${swatch('waited')}waited for a job slot</li>
<li>outlined: the critical path</li>
</ul>`;
}

function swatch(tone: string): Html {
  return html`<svg viewBox="0 0 8 8" class="timeline" aria-hidden="true"><rect class="${tone}" width="8" height="8"/></svg>`;
}

function row(step: RunStep, index: number, end: number): Html {
  const critical = step.isCritical ? html` ${badge('plain', 'critical')}` : NOTHING;
  const diverged = step.diverged ? html` ${badge('bad', 'diverged')}` : NOTHING;
  const flaky = isFlaky(step) ? html` ${badge('warn', 'flaky')}` : NOTHING;
  return html`<tr id="step-${index}"><td><strong>${nameOf(step)}</strong> ${stepOutcome(step.outcome)}${flaky}${critical}${diverged}
<span class="why">${step.why}</span>${details(step)}</td><td class="track">${track(step, end)}</td><td class="number">${duration(step.elapsedMs)}${saved(step)}</td></tr>`;
}

function nameOf({ step, key, isStored }: RunStep): Value {
  return key !== undefined && isStored ? link(`/action/${key}`, step) : step;
}

function saved({ outcome, commandMs, elapsedMs }: RunStep): Html {
  const isHit = outcome === 'hit-local' || outcome === 'hit-remote';
  if (!isHit || commandMs <= elapsedMs) return NOTHING;
  return html` <span class="note">saved ${duration(commandMs - elapsedMs)}</span>`;
}

function track({ startMs, elapsedMs, waitedMs, outcome, isCritical }: RunStep, end: number): Html {
  const scale = (ms: number) => (ms / end) * WIDTH;
  const waited = Math.min(waitedMs, elapsedMs);
  const x = Math.min(scale(startMs), WIDTH - SHORTEST);
  const width = Math.max(scale(elapsedMs - waited), SHORTEST);
  const at = (value: number) => value.toFixed(1);
  const [position, size] = [at(x + scale(waited)), at(width)];
  const outline = isCritical
    ? html`<rect class="critical" x="${position}" y="2" width="${size}" height="14"/>`
    : NOTHING;
  return html`<svg viewBox="0 0 ${WIDTH} 18" preserveAspectRatio="none" aria-hidden="true"><rect class="track-line" y="8" width="${WIDTH}" height="2"/><rect class="waited" x="${at(x)}" y="6" width="${at(scale(waited))}" height="6"/><rect class="${STEP_TONES[outcome]}" x="${position}" y="3" width="${size}" height="12"/>${outline}</svg>`;
}

function details(step: RunStep): Html {
  const facts = factsOf(step);
  const action = actionOf(step);
  const findings = step.findings.map(
    ({ kind, path, detail }) =>
      html`<li>${badge('plain', kind)} <code>${path}</code> <span class="faint">${detail}</span></li>`,
  );
  const more =
    step.moreFindings > 0
      ? html`<li class="faint">and ${counted(step.moreFindings, 'more', 'more')}</li>`
      : NOTHING;
  if (facts.length === 0 && findings.length === 0 && action === NOTHING) return NOTHING;
  const list = findings.length === 0 ? NOTHING : html`<ul class="plain-list">${findings}${more}</ul>`;
  return html`<details><summary>Details</summary><dl class="facts">${facts}</dl>${list}<p>${action}</p></details>`;
}

function actionOf({ key, isStored, step }: RunStep): Html {
  if (key === undefined) return NOTHING;
  if (isStored) return link(`/action/${key}`, 'The action, its inputs and its log');
  return html`<span class="faint">This server does not have the action of ${step}.</span>${copyable(`assay show ${key}`, 'the command that shows it on the machine that ran it')}`;
}

function factsOf(step: RunStep): Html[] {
  const { status, facts, needs, waitedMs, exitCode, variables, notKept, bytesUp, bytesDown, outcome, tries } =
    step;
  const moved = bytesUp + bytesDown > 0 ? `${bytes(bytesDown)} down, ${bytes(bytesUp)} up` : undefined;
  const rows: readonly (readonly [string, Html | string | undefined])[] = [
    ['Status', status && statusWord(status)],
    ['Compared', facts && factText(facts)],
    ['Not kept', notKept],
    ['Exit code', outcome === 'failed' ? String(exitCode) : undefined],
    ['Tries', tries && triesText(tries)],
    ['After', needs.length > 0 ? needs.join(', ') : undefined],
    ['Waited', waitedMs >= 100 ? `${duration(waitedMs)} for a job slot` : undefined],
    ['Moved', moved],
    ['Variables', variables.length > 0 ? variables.join(', ') : undefined],
  ];
  return rows.flatMap(([name, value]) =>
    value === undefined ? [] : html`<dt>${name}</dt><dd>${value}</dd>`,
  );
}

function triesText({ exitCodes, verdict }: NonNullable<RunStep['tries']>): string {
  const facts = verdict === 'changed' ? 'not with the same facts' : 'with the same facts';
  return `ended with ${exitCodes.join(', then ')}, ${facts}`;
}

function factText({ files, absent, listings, libraries, machine }: ReportedFacts): string {
  const parts = [
    [files, 'file'],
    [absent, 'absent path'],
    [listings, 'folder listing'],
    [libraries, 'library', 'libraries'],
    [machine, 'fact of the machine', 'facts of the machine'],
  ] as const;
  const named = parts
    .filter(([number]) => number > 0)
    .map(([number, one, many]) => counted(number, one, many));
  return named.length === 0 ? 'nothing beyond its declared inputs' : named.join(', ');
}
