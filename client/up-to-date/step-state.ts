// The state of a step that was found in place: all that decided it, as the next run compares it.
// It exists only if invariants G2, G8 and G9 of graph-state.ts hold.
import { lstatSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Hash } from '../../core/digest.ts';
import type { EvidenceStatus } from '../../core/evidence.ts';
import { absPath } from '../../system/paths/absolute-path.ts';
import { expandPatterns } from '../action/declared-variables.ts';
import { looksSecretVariable, type Variables } from '../action/environment.ts';
import { toolPathOf } from '../action/program-folders.ts';
import { allSettled } from '../files/settled.ts';
import { isAbsent, rowOf, type StatRow } from '../files/stat-table.ts';
import type { KeyedAction } from '../inputs/keyed-action.ts';
import type { MachineProperty } from '../path-sets/machine.ts';
import type { Log } from '../process/log.ts';
import type { Cache } from '../run/caches.ts';
import { type ToolStamp, toolStamps } from '../tools/tool-stamp.ts';
import type { Tool } from '../tools/tools.ts';
import { type ChangingFolders, isSurelyAbsent, type PathStats, withProvingFolders } from './absent-paths.ts';

/** The recorded state of one step. */
export interface StepState {
  readonly key: Hash;
  /**
   * The key under which the result is stored, and the digest of the result: after an eviction it may be
   * another.
   */
  readonly address: Hash;
  readonly result: Hash;
  readonly exitCode: number;
  readonly commandMs: number;
  readonly status: EvidenceStatus;
  readonly log: Log;
  /** A HitReceipt as JSON: most runs do not need it. */
  readonly receipt: string;
  /** All that the step declares except the values of its variables: a digest, or the text itself. */
  readonly definition: string;
  /** A digest, because the values may be secret. */
  readonly variables: string;
  /** The step hash in the history. Only a single run needs it. */
  readonly step?: Hash;
  readonly tools: readonly ToolStamp[];
  /** The paths that the result depends on. */
  readonly inputs: PathStats;
  /** Those that may change while the invalidators stay. */
  readonly properties: readonly MachineProperty[];
  readonly outputs: ReadonlyMap<string, StatRow>;
}

/** How the programs of a step are searched, and what its graph changes. */
export interface StepPlace {
  /** The programs beside the command's own. */
  readonly tools: readonly string[];
  readonly caller: Variables;
  /** The paths that decide which folders of the workspace are searched. */
  readonly causes: readonly string[];
  /** In which the steps of the graph make their outputs. */
  readonly changing: ChangingFolders;
}

/** Undefined if the step must not be recorded. `beganAt`: the clock before its first lstat. */
export function stepStateOf(
  action: KeyedAction,
  cache: Cache,
  { tools, caller, causes, changing }: StepPlace,
  beganAt: number,
): Omit<StepState, 'definition' | 'variables'> | undefined {
  const { request, inputs, key } = action;
  const names = expandPatterns(request.variables, caller).map(({ name }) => name);
  if (inputs.strayLinks.length > 0 || names.includes('PATH') || names.some(looksSecretVariable))
    return undefined;
  const found = cache.inPlace.of(action);
  if (!found) return undefined;
  const { outputs, address, result, hit, properties } = found;
  const rows = new Map([...inputs.statRows(), ...found.rows]);
  const traversed = new Set([...inputs.existenceOnly()].filter((name) => !found.rows.has(name)));
  for (const path of causes) recordPath(path, request.workspace, rows);
  if (!allSettled([...rows.values(), ...outputs.values()], beganAt)) return undefined;
  const rowsOf = ({ marks }: Tool) => marks.map(({ row }) => row);
  if (!action.tools.every((tool) => allSettled(rowsOf(tool), cache.tools.resolvedAt(tool) ?? beganAt)))
    return undefined;
  // The state of a path outside the workspace may have been read for an earlier step: these stats are younger.
  const outside = [...rows].flatMap(([name, row]) => (name.startsWith('/') ? [row] : []));
  if (!allSettled(outside, Math.min(beganAt, cache.systemFiles?.since ?? beganAt))) return undefined;
  const proven = withProvingFolders({ rows, traversed }, absPath(request.workspace), changing, beganAt);
  // A name that appeared before its folder's row was taken, by a clock that lags, is in a folder that looks settled.
  if ([...proven.rows].some(([name, row]) => isAbsent(row) && !isSurelyAbsent(request.workspace, name)))
    return undefined;
  return {
    key: key.hash,
    address,
    result,
    exitCode: hit.exitCode,
    commandMs: hit.commandMs,
    status: hit.status,
    log: hit.log,
    receipt: hit.receipt ? JSON.stringify(hit.receipt) : '',
    tools: toolStamps(tools, action, toolPathOf(request, caller)),
    inputs: proven,
    properties,
    outputs,
  };
}

/**
 * If the path is absent, records its absent parents too, so that one existing folder can stand for all of
 * them.
 */
function recordPath(path: string, root: string, rows: Map<string, StatRow>): void {
  for (let at = path; at !== '.' && !rows.has(at); at = dirname(at)) {
    const stats = lstatSync(join(root, at), { throwIfNoEntry: false });
    if (stats && at !== path) return;
    rows.set(at, rowOf(stats));
    if (stats) return;
  }
}
