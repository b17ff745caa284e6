// Misses worth fixing: the causes of misses in reported runs, ranked by the time that they cost.
// A cause costs the duration of every command that ran because of it.

import type { MissKind } from '../../../core/metadata/run-report.ts';
import type { NamespaceRange } from '../../../core/namespace.ts';
import { documentsIn } from '../../../server/history/documents.ts';
import { causeText } from '../../../store/actions/miss-text.ts';
import type { History } from '../../../store/history.ts';
import type { Misses, MissRow } from '../api/schemas/misses.ts';
import { DASHBOARD } from '../limits.ts';
import {
  byLoss,
  type CauseSum,
  DAY_MS,
  MISS_DAY_KIND,
  RankedMisses,
  type StoredMissDay,
} from './miss-days.ts';

const LISTED_STEPS = 5;

interface MissesQuery {
  /** The whole day of this time counts. */
  readonly from: number;
  readonly to: number;
}

export async function rankMisses(
  history: History,
  readable: NamespaceRange,
  { from, to }: MissesQuery,
): Promise<Misses> {
  const sums = new RankedMisses();
  const firstDay = dayOf(from);
  const query = { kind: MISS_DAY_KIND, namespaces: readable, from: firstDay, to };
  for await (const { value } of documentsIn<StoredMissDay>(history, query)) sums.add(value);
  const { runs, misses, lostMs, droppedCauses } = sums;
  return {
    from: new Date(firstDay).toISOString(),
    to: new Date(to).toISOString(),
    runs,
    misses,
    lostMs,
    causes: sums.worst(DASHBOARD.listedCauses).map((cause) => rowOf(cause, lostMs)),
    moreCauses: Math.max(0, sums.size - DASHBOARD.listedCauses) + droppedCauses,
  };
}

/** While they are read for the first time. */
export function noMisses({ from, to }: MissesQuery): Misses {
  return {
    from: new Date(dayOf(from)).toISOString(),
    to: new Date(to).toISOString(),
    ...{ runs: 0, misses: 0, lostMs: 0, causes: [], moreCauses: 0 },
  };
}

function dayOf(at: number): number {
  return Math.floor(at / DAY_MS) * DAY_MS;
}

function rowOf({ cause, count, lostMs, steps, example }: CauseSum, allLostMs: number): MissRow {
  return {
    cause,
    text: causeText(cause),
    count,
    lostMs,
    share: allLostMs === 0 ? 0 : lostMs / allLostMs,
    steps: steps.sort(byLoss).slice(0, LISTED_STEPS),
    whatToDo: ADVICE[cause.kind],
    example: { ...example, at: new Date(example.at).toISOString() },
  };
}

const ADVICE: Readonly<Record<MissKind, string>> = {
  input:
    'If the outputs do not depend on this file, exclude it from "inputs" with "!path". If they depend on a small part of it, let a step of its own extract that part. If another step makes it, begin with what made that step run.',
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
    'Nothing, for a new step. If it repeats, earlier runs of the step are not reported: with ASSAY_REPORT=0, or a token without runs:write.',
  unknown: 'Open the run for the details.',
};
