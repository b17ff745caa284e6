// The log of graph runs: one JSON object per line and run, newest last.
// Only `assay stats` and `assay report` read it; deleting it changes nothing else.
import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { StepOutcome } from '../../core/metadata/run-report.ts';
import { replaceFile } from '../../system/files/replace-file.ts';
import { GRAPH, HISTORY } from '../limits.ts';
import { clientFolder, makeClientFolder, PRIVATE_FILE } from '../local-store/client-folder.ts';
import { appendPrivate, readPrivate } from '../local-store/private-file.ts';
import type { GraphSummary } from '../view/events.ts';
import type { SummaryRow } from '../view/markdown.ts';

export interface GraphRun {
  readonly at: string;
  readonly workspace: string;
  readonly elapsedMs: number;
  readonly bytesUp: number;
  readonly bytesDown: number;
  /** Step, outcome, the duration of its command when it ran, of this run of the step, why it was no ordinary hit. */
  readonly steps: readonly (readonly [string, StepOutcome, number, number, why?: string])[];
  readonly warnings?: readonly string[];
}

export function graphRunsFile(storeFolder: string): string {
  return join(clientFolder(storeFolder), 'runs.jsonl');
}

export function appendRun(
  file: string,
  run: { at: number; workspace: string; summary: GraphSummary; rows: readonly SummaryRow[] },
): void {
  const { at, workspace, summary, rows } = run;
  const line: GraphRun = {
    at: new Date(at).toISOString(),
    workspace,
    elapsedMs: summary.elapsedMs,
    bytesUp: summary.bytesUp,
    bytesDown: summary.bytesDown,
    steps: rows.map(({ step, outcome, commandMs, elapsedMs, why }) => {
      const times = [Math.round(commandMs), Math.round(elapsedMs)] as const;
      return why === ''
        ? [step, outcome, ...times]
        : [step, outcome, ...times, why.slice(0, HISTORY.longestReason)];
    }),
    ...(summary.warnings.length > 0 && { warnings: summary.warnings }),
  };
  try {
    makeClientFolder(dirname(file));
    appendPrivate(file, `${JSON.stringify(line)}\n`);
    if (statSync(file).size > GRAPH.statsBytes) shorten(file);
  } catch {
    // A run does not fail because its log cannot be written.
  }
}

/** Oldest first. Torn lines are skipped. */
export function readRuns(file: string): GraphRun[] {
  let text: string;
  try {
    text = readPrivate(file).toString();
  } catch {
    return [];
  }
  return text.split('\n').flatMap((line) => {
    try {
      const run: GraphRun = JSON.parse(line);
      return Array.isArray(run.steps) ? [run] : [];
    } catch {
      return [];
    }
  });
}

function shorten(file: string): void {
  const runs = readRuns(file);
  const kept = runs.slice(Math.ceil(runs.length / 2));
  replaceFile(file, kept.map((run) => `${JSON.stringify(run)}\n`).join(''), PRIVATE_FILE.mode);
}
