// The last run of a step, with any inputs: how long its command took, and whether its result was kept.
// The run looks in this machine's history first, then in the answer of an Assay server to the lookup that missed.
import type { Earlier } from '../../store/actions/outline.ts';
import type { RunRequest } from '../action/request.ts';
import { type HistoryEntry, stepOf } from '../history/history.ts';

interface KnownRun {
  /** Of the newest run that succeeded. Undefined if nobody knows. */
  readonly commandMs: number | undefined;
  /** False if the last run that succeeded kept no result: then the next one will hardly keep one. */
  readonly isKept: boolean;
}

/** `entries`: newest first. `earlier`: what a remote told of the step's earlier action. */
export function knownRun(
  request: RunRequest,
  entries: readonly HistoryEntry[],
  earlier: () => Earlier | undefined,
): KnownRun {
  const { workspace, name } = request;
  const step = stepOf(request);
  const isSame = (entry: HistoryEntry) =>
    entry.step === step || (name !== undefined && entry.name === name && entry.workspace === workspace);
  const last = entries.find((entry) => !entry.exitCode && entry.commandMs !== undefined && isSame(entry));
  if (last) return { commandMs: last.commandMs, isKept: last.notKept === undefined };
  const there = earlier();
  if (!there || there.outcome === 'none' || there.exitCode) return { commandMs: undefined, isKept: true };
  return { commandMs: there.ranMs, isKept: there.notKept === undefined };
}
