// The short answer of `assay explain --json=short`: why a step ran or hit, and the first differences. With --run it tells of
// a step of a run that was reported to a server.
import type { KeyDifference } from '../../store/actions/difference.ts';
import { describe } from '../history/difference-text.ts';
import type { HistoryEntry } from '../history/history.ts';
import type { FoundStep } from '../history/reported-step.ts';
import { SHORT } from '../limits.ts';
import { cleaned, fitted, listed, type Room } from './fit.ts';
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
    ...listed('differences', differences, room.items, (one) => shownDifference(one, room)),
    next: nextAfter(entry),
  }));
}

/** One line. `unlisted`: differences that the report does not list. All texts are the server's: data. */
export function reportedAnswer(run: string, { step, startedAt, differences, unlisted }: FoundStep): string {
  const { step: name, key, outcome, why, exitCode, notKept, seen } = step;
  const shown = key?.slice(0, SHORT.keyDigits);
  return fitted((room) => {
    const list = listed('differences', differences, room.items, (one) => shownDifference(one, room));
    const more = Number(list.moreDifferences ?? 0) + unlisted;
    return {
      ...{ version: ANSWER_VERSION, answer: 'explain', run },
      step: cleaned(name, room),
      at: cleaned(startedAt, room),
      ...(shown !== undefined && { key: cleaned(shown, room) }),
      outcome,
      reason: cleaned(why, room),
      ...(exitCode !== 0 && { exitCode }),
      ...(notKept !== undefined && { notKept: cleaned(notKept, room) }),
      ...(seen && seen.at <= Date.now() && { seenAt: new Date(seen.at).toISOString() }),
      ...list,
      ...(more > 0 && { moreDifferences: more }),
      next:
        outcome === 'miss' || shown === undefined
          ? `assay explain --all --run ${run} ${word(name)}`
          : `assay show ${word(shown)}`,
    };
  });
}

function shownDifference(one: KeyDifference, room: Room): object {
  return { kind: one.kind, text: cleaned(describe(one), room) };
}

function nextAfter({ name, key, outcome, notKept }: HistoryEntry): string {
  if (outcome !== 'miss') return `assay show ${key.slice(0, SHORT.keyDigits)}`;
  if (name === undefined) return `assay explain --all ${key.slice(0, SHORT.keyDigits)}`;
  return notKept === undefined ? `assay explain --all ${word(name)}` : `assay audit ${word(name)}`;
}
