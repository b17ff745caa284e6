// The text of a graph run: one line for each step, and a summary. Terminal and log files get the same words.

import { isFlaky } from '../../core/metadata/run-report.ts';
import { triesText } from '../retry/retry.ts';
import { checkedText, durationText, proofMark, sampleText, savedText, whyNotKept } from '../run/reporter.ts';
import type { Colour } from '../terminal/colour.ts';
import { inOneLine } from '../terminal/sync-stream.ts';
import type { GraphSummary, StepEnd } from './events.ts';

/** What the first line of a summary tells. */
export type RunCounts = Pick<
  GraphSummary,
  | 'steps'
  | 'hitsLocal'
  | 'hitsRemote'
  | 'misses'
  | 'failed'
  | 'interrupted'
  | 'skipped'
  | 'savedMs'
  | 'elapsedMs'
  | 'bytesUp'
  | 'bytesDown'
>;

/** How many reasons, steps per reason, and slow steps the summary names. */
const MOST_REASONS = 20;
const MOST_NAMED = 3;
const MOST_SLOW = 3;

/** A terminal line omits the key to fit; `assay explain STEP` shows it. */
export function stepLine(end: StepEnd, colour: Colour, withKey: boolean): string {
  const key = withKey && end.key !== undefined ? ` ${end.key.slice(0, 12)}` : '';
  return `${colour('bold', end.step)}  ${outcomeText(end, colour, key)}`;
}

function outcomeText(end: StepEnd, colour: Colour, key: string): string {
  const { outcome, commandMs, elapsedMs } = end;
  const reason = inOneLine(end.reason);
  switch (outcome) {
    case 'hit-local':
    case 'hit-remote': {
      const kind = `${outcome === 'hit-local' ? 'local' : 'remote'}${proofMark(end.status)}`;
      if (end.checked) return checkedHit(end, kind, colour, key);
      const restored = end.outputsWritten === 0 ? '' : `, ${counted(end.outputsWritten, 'output')} restored`;
      return `${colour('green', `hit (${kind})`)}${key}${restored}${savedText(commandMs - elapsedMs)}`;
    }
    case 'miss':
      return `${colour('yellow', 'ran')}${key} ${durationText(commandMs)}: ${reason}${keptText(end)}${triesOf(end)}`;
    case 'failed':
      return failureText(end, colour, key);
    case 'interrupted':
      return `${colour('yellow', 'interrupted')}${key} after ${durationText(commandMs)}`;
    case 'skipped':
      return `${colour('dim', 'skipped')}: ${reason}`;
  }
}

function checkedHit(end: StepEnd, kind: string, colour: Colour, key: string): string {
  const { checked = 'same', commandMs } = end;
  const tone = checked === 'same' ? 'green' : 'red';
  return `${colour(tone, `hit (${kind})${checkedText(checked)}`)}${key}, ran ${durationText(commandMs)}`;
}

function failureText({ key, commandMs, ...end }: StepEnd, colour: Colour, shownKey: string): string {
  if (key === undefined)
    return `${colour('red', 'failed')}: ${inOneLine(end.reason)}${end.wayOut ? `. ${end.wayOut}` : ''}`;
  if (end.notHermetic) return `${colour('red', 'failed')}${shownKey}: ${NOT_HERMETIC_TEXT}`;
  if (end.checked === 'different')
    return `${colour('red', `failed with ${end.exitCode}`)}${shownKey}: ${STALE_TEXT}`;
  const when = end.replayed ? ', as it did before (stored)' : ` after ${durationText(commandMs)}`;
  return `${colour('red', `failed with ${end.exitCode}`)}${shownKey}${when}${triesOf(end)}`;
}

function triesOf({ tries }: Pick<StepEnd, 'tries'>): string {
  return tries ? `; ${inOneLine(triesText(tries))}` : '';
}

/** The findings stand beside this text. */
const NOT_HERMETIC_TEXT = 'the command succeeded but is not hermetic, and "hermetic" is "strict"';

const STALE_TEXT = 'a stale hit: the command makes something else than the stored result';

/** One line for an annotation or a table cell. */
export function failureReason(end: StepEnd): string {
  const { key, reason, exitCode, notHermetic, replayed, checked, tries } = end;
  if (key === undefined) return inOneLine(reason);
  if (notHermetic) return NOT_HERMETIC_TEXT;
  if (checked === 'different') return STALE_TEXT;
  if (tries) return inOneLine(triesText(tries));
  return `ended with ${exitCode}${replayed ? ', as it did before (stored)' : ''}`;
}

/** Why it ended so, for a row of a summary. An ordinary hit needs no reason. */
export function whyOf(end: StepEnd): string {
  const { outcome, checked } = end;
  if (outcome === 'failed') return failureReason(end);
  if (outcome === 'hit-local' || outcome === 'hit-remote')
    return checked ? checkedText(checked).replace(', ', '') : '';
  return `${inOneLine(end.reason)}${triesOf(end)}`;
}

function keptText({ published, notPublished, status, reason }: StepEnd): string {
  const mark = proofMark(status);
  if (published) return mark === '' ? '' : `; kept${mark}`;
  return notPublished === undefined ? '' : `; not kept${whyNotKept(notPublished, reason)}`;
}

export function summaryLines(summary: GraphSummary, ends: readonly StepEnd[], colour: Colour): string[] {
  const lines = [headline(summary, colour)];
  const misses = ends.filter(({ outcome }) => outcome === 'miss');
  const slow = misses.toSorted((a, b) => b.commandMs - a.commandMs).slice(0, MOST_SLOW);
  if (misses.length > 0) {
    const reasons = reasonLines(misses);
    lines.push('  why they ran:', ...reasons.slice(0, MOST_REASONS));
    if (reasons.length > MOST_REASONS) lines.push(`    … and ${reasons.length - MOST_REASONS} more reasons`);
  }
  if (misses.length > 1)
    lines.push(
      `  slowest: ${slow.map(({ step, commandMs }) => `${step} ${durationText(commandMs)}`).join(', ')}`,
    );
  for (const warning of summary.warnings) lines.push(`  ${colour('yellow', '!')} ${warning}`);
  lines.push(...checkLines(summary, ends, colour));
  const flaky = ends.filter(isFlaky);
  if (flaky.length > 0)
    lines.push(`  ${colour('yellow', 'flaky')}: ${flaky.map(({ step }) => step).join(', ')}`);
  const failed = ends.filter(({ outcome }) => outcome === 'failed');
  if (failed.length > 0)
    lines.push(`  ${colour('red', 'failed')}: ${failed.map(({ step }) => step).join(', ')}`);
  return lines;
}

/** Names each hit whose check did not end well. */
function checkLines({ checkHits }: GraphSummary, ends: readonly StepEnd[], colour: Colour): string[] {
  if (!checkHits) return [];
  const { same, different, unstable } = checkHits;
  const named = (verdict: StepEnd['checked'], title: string) => {
    const steps = ends.filter(({ checked }) => checked === verdict).map(({ step }) => step);
    return steps.length === 0 ? [] : [`  ${colour('red', title)}: ${steps.join(', ')}`];
  };
  return [
    `  checked ${counted(same + different + unstable, 'hit')} (${sampleText(checkHits)}): ${same} the same, ${different} different, ${unstable} unstable`,
    ...named('different', 'STALE HITS'),
    ...named('unstable', 'unstable'),
  ];
}

/** Steps that ran for the same reason share a line. */
function reasonLines(misses: readonly StepEnd[]): string[] {
  return [...Map.groupBy(misses, ({ reason }) => reason)].map(([reason, ends]) => {
    const named = ends.slice(0, MOST_NAMED).map(({ step }) => step);
    const more = ends.length > named.length ? ` and ${ends.length - named.length} more` : '';
    return `    ${inOneLine(reason)}: ${named.join(', ')}${more}`;
  });
}

export function headline(summary: RunCounts, colour: Colour): string {
  const { steps, hitsLocal, hitsRemote, misses, failed, interrupted, skipped, savedMs, elapsedMs } = summary;
  const hits = hitsLocal + hitsRemote;
  const where = hitsRemote > 0 ? ` (${hitsLocal} local, ${hitsRemote} remote)` : '';
  const parts = [
    hits > 0 && colour('green', `${hits} hit${where}`),
    misses > 0 && colour('yellow', `${misses} ran`),
    failed > 0 && colour('red', `${failed} failed`),
    interrupted > 0 && colour('yellow', `${interrupted} interrupted`),
    skipped > 0 && `${skipped} skipped`,
  ].filter((part) => part !== false);
  const saved = savedText(savedMs);
  const moved = [
    summary.bytesDown > 0 && `${bytesText(summary.bytesDown)} down`,
    summary.bytesUp > 0 && `${bytesText(summary.bytesUp)} up`,
  ].filter((part) => part !== false);
  const traffic = moved.length > 0 ? `; ${moved.join(', ')}` : '';
  return `${counted(steps, 'step')}: ${parts.join(', ') || 'nothing to do'}; ${durationText(elapsedMs)}${saved}${traffic}`;
}

export function bytesText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 2 ** 20) return `${(bytes / 1024).toFixed(1)} KiB`;
  return bytes < 2 ** 30 ? `${(bytes / 2 ** 20).toFixed(1)} MiB` : `${(bytes / 2 ** 30).toFixed(2)} GiB`;
}

/** A run that has no job slot. */
export function jobsTakenText(jobs: number, isOver = false): string {
  const [waits, hold] = isOver ? ['had to wait', 'held'] : ['waiting', 'hold'];
  return `${waits} for a job slot: other runs of this user ${hold} ${jobs === 1 ? 'the only one' : `all ${jobs}`} (--jobs)`;
}

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
