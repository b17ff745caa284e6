// Misses worth fixing: the causes of misses in reported runs, ranked by the time that they cost.
// A cause costs the duration of every command that ran because of it.
import type { MissCause, MissKind } from '../../../core/metadata/run-report.ts';
import type { History } from '../../../store/history.ts';
import { DASHBOARD } from '../../limits.ts';
import type { Misses, MissRow } from '../api/types.ts';
import { documentsIn } from '../documents.ts';
import type { StoredMiss, StoredMisses } from './run-documents.ts';
import type { Readable } from './runs.ts';

const LISTED_STEPS = 5;

export interface MissesQuery {
  readonly from: number;
  readonly to: number;
}

export async function rankMisses(
  history: History,
  readable: Readable,
  { from, to }: MissesQuery,
): Promise<Misses> {
  const causes = new Map<string, Ranked>();
  const totals = { runs: 0, misses: 0, lostMs: 0 };
  const query = { kind: 'misses', namespaces: readable, from, to };
  for await (const { name, value } of documentsIn<StoredMisses>(history, query)) {
    totals.runs++;
    for (const miss of value.misses) {
      totals.misses++;
      totals.lostMs += miss.commandMs;
      const cause = causeOf(miss, value.repository);
      const ranked = causes.get(cause) ?? new Ranked(miss, { run: name.id, at: name.at });
      causes.set(cause, ranked);
      ranked.add(miss, value.repository);
    }
  }
  const rows = [...causes.values()].sort((a, b) => b.lostMs - a.lostMs || b.count - a.count);
  return {
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    ...totals,
    causes: rows.slice(0, DASHBOARD.listedCauses).map((ranked) => ranked.row(totals.lostMs)),
    moreCauses: Math.max(0, rows.length - DASHBOARD.listedCauses),
  };
}

/** The same file of two repositories is two causes. Tools and the machine are the same everywhere. */
function causeOf({ cause: { kind, name = '' } }: StoredMiss, repository = ''): string {
  const isLocal = kind === 'input' || kind === 'outputs' || kind === 'variable';
  return JSON.stringify([kind, name, isLocal ? repository : '']);
}

class Ranked {
  lostMs = 0;
  count = 0;
  readonly #cause: MissCause;
  /** The first that is added is the newest. */
  readonly #example: MissRow['example'];
  readonly #steps = new Map<string, { step: string; repository?: string; count: number; lostMs: number }>();

  constructor({ cause, step }: StoredMiss, { run, at }: { readonly run: string; readonly at: number }) {
    this.#cause = cause;
    this.#example = { run, step, at: new Date(at).toISOString() };
  }

  add({ step, commandMs }: StoredMiss, repository: string | undefined): void {
    this.count++;
    this.lostMs += commandMs;
    const name = JSON.stringify([repository, step]);
    const known = this.#steps.get(name) ?? {
      step,
      ...(repository !== undefined && { repository }),
      count: 0,
      lostMs: 0,
    };
    known.count++;
    known.lostMs += commandMs;
    this.#steps.set(name, known);
  }

  row(allLostMs: number): MissRow {
    return {
      cause: this.#cause,
      text: textOf(this.#cause),
      count: this.count,
      lostMs: this.lostMs,
      share: allLostMs === 0 ? 0 : this.lostMs / allLostMs,
      steps: [...this.#steps.values()].sort((a, b) => b.lostMs - a.lostMs).slice(0, LISTED_STEPS),
      whatToDo: ADVICE[this.#cause.kind],
      example: this.#example,
    };
  }
}

/** As a sentence. */
export function textOf({ kind, name }: MissCause): string {
  return SENTENCES[kind](name ?? 'something');
}

const SENTENCES: Readonly<Record<MissKind, (name: string) => string>> = {
  input: (name) => `${name} changed`,
  variable: (name) => `the variable ${name} changed`,
  tool: (name) => `the tool ${name} changed`,
  platform: (name) => `the platform property ${name} changed`,
  command: () => 'the command line changed',
  outputs: (name) => `the declared output ${name} changed`,
  version: () => 'Assay made the key in another way',
  fact: (name) => `${name} differs on this machine`,
  refused: () => 'a stored result was refused',
  'not-kept': () => 'the result of an earlier run was not kept',
  'failed-before': () => 'the command failed before, and failures are not cached',
  forced: () => 'the run was forced with --force',
  'not-cached': () => 'the step is not cached ("cache": false)',
  'first-run': () => 'there was no earlier run to compare with',
  unknown: () => 'the cause is not known',
};

const ADVICE: Readonly<Record<MissKind, string>> = {
  input:
    'If the outputs do not depend on this file, exclude it from "inputs" with "!path". If they depend on a small part of it, let a step of its own extract that part.',
  variable:
    'If the outputs do not depend on this variable, remove it from "env". A build number or a time stamp belongs into a last, cheap step.',
  tool: 'Pin the version of the tool, so that all machines have the same one, and change it seldom.',
  platform: 'Run these steps on machines of one kind, or accept one result for each kind.',
  command: 'Keep what changes in each run, such as a number or a path, out of the command line.',
  outputs: 'Nothing, if the declaration was changed on purpose.',
  version: 'Use one version of Assay on all machines.',
  fact: 'Make the machines alike in this, for example by one image, or declare the file as an input.',
  refused: 'Open the run: its step says why the result was refused.',
  'not-kept':
    'Open the run: its step says why the result was not kept. Most often the command read something that no fact can stand for.',
  'failed-before': 'Fix the command. "cacheFailures": true replays a failure that is deterministic.',
  forced: 'Leave --force away, unless the result is in doubt.',
  'not-cached': 'Declare the inputs and outputs of the step, and remove "cache": false.',
  'first-run':
    'Nothing, for a new step. If it repeats: the machine has no history of earlier runs, because its store is new in each job. Keep the store of the job between runs to see the cause.',
  unknown: 'Open the run for the details.',
};
