// The log of graph runs, for `assay stats`: one JSON object per line and run, newest last.
// Only `assay stats` reads it; deleting it changes nothing else.
import { renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { GraphSummary, StepEnd, StepOutcome } from '../graph/view/events.ts';
import { GRAPH } from '../limits.ts';
import { clientFolder, makeClientFolder, PRIVATE_FILE } from '../local-store/client-folder.ts';
import { appendPrivate, readPrivate } from '../local-store/private-file.ts';

export interface GraphRun {
  readonly at: string;
  readonly workspace: string;
  readonly elapsedMs: number;
  readonly bytesUp: number;
  readonly bytesDown: number;
  /** Step, outcome, the duration of its command when it ran, the duration of this run of the step. */
  readonly steps: readonly (readonly [string, StepOutcome, number, number])[];
}

export function graphRunsFile(storeFolder: string): string {
  return join(clientFolder(storeFolder), 'runs.jsonl');
}

export function appendRun(
  file: string,
  run: { at: number; workspace: string; summary: GraphSummary; ends: readonly StepEnd[] },
): void {
  const { at, workspace, summary, ends } = run;
  const line: GraphRun = {
    at: new Date(at).toISOString(),
    workspace,
    elapsedMs: summary.elapsedMs,
    bytesUp: summary.bytesUp,
    bytesDown: summary.bytesDown,
    steps: ends.map(({ step, outcome, commandMs, elapsedMs }) => [
      step,
      outcome,
      Math.round(commandMs),
      Math.round(elapsedMs),
    ]),
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
  const staged = `${file}.${process.pid}.tmp`;
  writeFileSync(staged, kept.map((run) => `${JSON.stringify(run)}\n`).join(''), PRIVATE_FILE);
  renameSync(staged, file);
}
