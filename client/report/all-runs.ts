// The runs of a store: those of graphs, and those of single commands as graphs of one step.
// A run whose line can't be read is left out.

import { commandText } from '../../hermeticity/verdict/finding.ts';
import { type HistoryEntry, historyOf } from '../history/history.ts';
import { HISTORY } from '../limits.ts';
import { type GraphRun, graphRunsFile, readRuns } from './graph-runs.ts';

/** Oldest first. */
export function allRuns(store: string): GraphRun[] {
  const commands = historyOf(store)
    .entries()
    .filter(({ name }) => name === undefined);
  return [...readRuns(graphRunsFile(store)), ...commands.map(runOf)].sort((a, b) => (a.at < b.at ? -1 : 1));
}

/** Whether the folder is the workspace of a run, or below it. */
export function ranIn(folder: string, { workspace }: GraphRun): boolean {
  return folder === workspace || folder.startsWith(`${workspace}/`);
}

/** The history has neither the duration of a hit nor its network traffic; both count as 0. */
function runOf({
  at,
  workspace,
  command,
  outcome,
  commandMs = 0,
  exitCode = 0,
  reason,
}: HistoryEntry): GraphRun {
  const text = commandText(command).replaceAll(/[\s\p{Cc}]+/gu, ' ');
  const step = text.length > HISTORY.longestCommand ? `${text.slice(0, HISTORY.longestCommand - 1)}…` : text;
  const row: GraphRun['steps'][number] =
    exitCode !== 0
      ? [step, 'failed', commandMs, 0, `ended with ${exitCode}`]
      : outcome === 'miss'
        ? [step, outcome, commandMs, 0, reason]
        : [step, outcome, commandMs, 0];
  return { at, workspace, elapsedMs: 0, bytesUp: 0, bytesDown: 0, steps: [row] };
}
