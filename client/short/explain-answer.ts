// The short answer of `assay explain --json=short`: why a step ran or hit, and the first differences.
import type { KeyDifference } from '../../store/actions/difference.ts';
import { describe } from '../history/difference-text.ts';
import type { HistoryEntry } from '../history/history.ts';
import { SHORT } from '../limits.ts';
import { cleaned, fitted, listed } from './fit.ts';
import { word } from './next-command.ts';
import { ANSWER_VERSION } from './run-answer.ts';

/** One line. */
export function explainAnswer(entry: HistoryEntry, differences: readonly KeyDifference[]): string {
  const { name, command, at, key, outcome, reason, exitCode, notKept, seen } = entry;
  return fitted((room) => ({
    version: ANSWER_VERSION,
    answer: 'explain',
    step: cleaned(name ?? command.join(' '), room),
    ...{ at, key: key.slice(0, SHORT.keyDigits), outcome },
    reason: cleaned(reason, room),
    ...(exitCode !== undefined && { exitCode }),
    ...(notKept !== undefined && { notKept: cleaned(notKept, room) }),
    ...(seen && { seenAt: new Date(seen.at).toISOString() }),
    ...listed('differences', differences, room.items, (one) => ({
      kind: one.kind,
      text: cleaned(describe(one), room),
    })),
    next: nextAfter(entry),
  }));
}

function nextAfter({ name, key, outcome, notKept }: HistoryEntry): string {
  if (outcome !== 'miss') return `assay show ${key.slice(0, SHORT.keyDigits)}`;
  if (name === undefined) return `assay explain --all ${key.slice(0, SHORT.keyDigits)}`;
  return notKept === undefined ? `assay explain --all ${word(name)}` : `assay audit ${word(name)}`;
}
