// What `assay status` prints: lines for a person, or one JSON object that fits SHORT.bytes.
import { cleaned, fitted, listed, type Room } from '../../../client/short/fit.ts';
import { word } from '../../../client/short/next-command.ts';
import { ANSWER_VERSION } from '../../../client/short/run-answer.ts';
import { inOneLine } from '../../../client/terminal/sync-stream.ts';
import { bytesText, counted } from '../../../client/view/words.ts';
import { AGENTS } from '../limits.ts';
import type { RemoteStatus, StoreStatus } from './places.ts';
import type { StepStatus } from './steps.ts';

interface Status {
  readonly steps: readonly StepStatus[];
  readonly store: StoreStatus;
  readonly remote?: RemoteStatus | undefined;
}

/** One line. */
export function statusAnswer({ steps, store, remote }: Status): string {
  const attention = attentionOf(steps);
  return fitted((room) => ({
    version: ANSWER_VERSION,
    answer: 'status',
    steps: steps.length,
    now: {
      upToDate: countNow(steps, 'up-to-date'),
      stored: countNow(steps, 'stored'),
      wouldRun: countNow(steps, 'would-run'),
      unknown: countNow(steps, 'unknown'),
    },
    last: lastCounts(steps),
    ...listed('attention', attention, room.items, (one) => shown(one, room)),
    ...(remote && { remote: remoteShown(remote, room) }),
    store: { ...store, folder: cleaned(store.folder, { bytes: 2 * room.bytes }) },
    next: nextCommand(attention),
  }));
}

/** The steps that failed last or would not hit, the failed ones first. What only waits for them is counted. */
function attentionOf(steps: readonly StepStatus[]): StepStatus[] {
  const rank = ({ last, now, isBehind }: StepStatus) =>
    last === 'failed' ? 0 : now === 'would-run' ? 1 : now === 'unknown' && !isBehind ? 2 : 3;
  return steps.filter((one) => rank(one) < 3).sort((a, b) => rank(a) - rank(b));
}

function shown({ step, last, at, now, why }: StepStatus, room: Room): object {
  return {
    step: cleaned(step, room),
    ...(last && { last, at }),
    now,
    ...(why !== undefined && { why: cleaned(why, room) }),
  };
}

function remoteShown({ url, usable, why, waiting }: RemoteStatus, room: Room): object {
  return {
    url: cleaned(url, room),
    usable,
    ...(why !== undefined && { why: cleaned(why, room) }),
    waiting,
  };
}

function countNow(steps: readonly StepStatus[], wanted: StepStatus['now']): number {
  return steps.filter(({ now }) => now === wanted).length;
}

function lastCounts(steps: readonly StepStatus[]) {
  const counts = { hit: 0, ran: 0, failed: 0, other: 0, never: 0 };
  for (const { last } of steps) counts[kindOf(last)]++;
  return counts;
}

function kindOf(last: StepStatus['last']): 'hit' | 'ran' | 'failed' | 'other' | 'never' {
  if (last === undefined) return 'never';
  if (last === 'hit-local' || last === 'hit-remote') return 'hit';
  if (last === 'miss') return 'ran';
  return last === 'failed' ? 'failed' : 'other';
}

function nextCommand([first]: readonly StepStatus[]): string {
  return first ? `assay run --json=short ${word(first.step)}` : 'assay audit';
}

const NOW: Readonly<Record<StepStatus['now'], string>> = {
  'up-to-date': 'in place',
  stored: 'stored, to be restored',
  'would-run': 'would run',
  unknown: 'unknown',
};

export function statusText({ steps, store, remote }: Status): string {
  const attention = attentionOf(steps);
  const settled = steps.filter((one) => !attention.includes(one));
  const listedSteps = [...attention, ...settled].slice(0, AGENTS.shownSteps);
  const more = steps.length - listedSteps.length;
  const free = store.freeBytes === undefined ? 'does not exist yet' : `${bytesText(store.freeBytes)} free`;
  const lines = [
    ...listedSteps.map(
      ({ step, now, why, last, at }) =>
        `${step}  ${NOW[now]}${why === undefined ? '' : `: ${why}`}${last ? ` (last ${last} at ${at})` : ''}`,
    ),
    ...(more > 0 ? [`… and ${counted(more, 'step')} more`] : []),
    `store   ${store.folder}, ${free}`,
    `remote  ${remote ? `${remote.url}, ${remote.usable ? 'answers' : `does not work: ${remote.why}`}${remote.waiting > 0 ? `; lacks ${counted(remote.waiting, 'result')} yet` : ''}` : 'none'}`,
  ];
  return `${lines.map(inOneLine).join('\n')}\n`;
}
