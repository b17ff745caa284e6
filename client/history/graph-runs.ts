// What runs of graphs did over time, for `assay stats`: one line of JSON for each run, newest last. Losing it loses nothing
// else.
import { appendFileSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { GraphSummary, StepEnd, StepOutcome } from '../graph/view/events.ts';
import { GRAPH } from '../limits.ts';
import { clientFolder, makeClientFolder, PRIVATE_FILE } from '../local-store/client-folder.ts';

export interface GraphRun {
  readonly at: string;
  readonly workspace: string;
  readonly elapsedMs: number;
  readonly bytesUp: number;
  readonly bytesDown: number;
  /** Step, outcome, how long its command takes, how long it took this time. */
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
    appendFileSync(file, `${JSON.stringify(line)}\n`, PRIVATE_FILE);
    if (statSync(file).size > GRAPH.statsBytes) shorten(file);
  } catch {
    // The run itself matters more than the memory of it.
  }
}

/** Oldest first. Lines that are not whole are passed over. */
export function readRuns(file: string): GraphRun[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
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
