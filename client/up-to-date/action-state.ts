// The recorded state of one action: if all of it is unchanged, the action is up to date.
// Such a hit makes no key and opens no store; it costs one lstat for each recorded path
// (docs/decisions/0130).
//
//   A1  An action is up to date only if all of these are unchanged: the invalidators, the request word by
//       word, the values of its variables, its tools, and the stats of its inputs, its observed paths and
//       its outputs.
//   A2  An action is recorded only after its outputs were compared with the result, by digest.
//   A3  An action is recorded only if all its stats were settled when the run began (files/settled.ts).
//   A4  An action with a stray link, a declared PATH or a variable that looks secret is not recorded.
//   A5  A file that is missing, torn or foreign gives no state.
//
//                found in place and settled (A2, A3)
//   no state ──────────────────────────────────────────> recorded ──> all unchanged (A1): up to date
//      ^                                                  │    ^
//      └──── nothing is removed: a file that no longer ───┘    └──── overwritten by the next record
//            matches is ignored until it is overwritten
import { join } from 'node:path';
import { digestOf, type Hash } from '../../core/digest.ts';
import { expandPatterns } from '../action/declared-variables.ts';
import { keyedEnvironment, looksSecret, type Variables } from '../action/environment.ts';
import type { RunRequest } from '../action/request.ts';
import { checksum } from '../files/checksum.ts';
import { allSettled } from '../files/settled.ts';
import { lstatIn } from '../files/stat-recorder.ts';
import { readTable, rowMatches, type StatTable, tableOf, writeTable } from '../files/stat-table.ts';
import { stepOf } from '../history/history.ts';
import type { HitRecord, InPlaceCheck } from '../outputs/in-place.ts';
import type { KeyedAction } from '../run/key.ts';
import { isUnchanged, type ToolStamp, toolStamps } from '../tools/tool-stamp.ts';
import { invalidatorsOf } from './invalidators.ts';

const MAGIC = 'assay-action-5';

export interface UpToDateHit extends HitRecord {
  readonly key: Hash;
  /** The step hash in the history. */
  readonly step: Hash;
}

/** The format of the file: the streams are in base64. */
interface Written extends Omit<UpToDateHit, 'log'> {
  /** The invalidators, the request and the digest of the variables. */
  readonly identity: string;
  readonly tools: readonly ToolStamp[];
  readonly stdout: string;
  readonly stderr: string;
  readonly order: readonly number[];
}

export class ActionState {
  readonly #folder: string;
  readonly #caller: Variables;

  constructor(folder: string, caller: Variables) {
    this.#folder = folder;
    this.#caller = caller;
  }

  /** The recorded hit, if the action is up to date. */
  lookup(request: RunRequest): UpToDateHit | undefined {
    const table = readTable(this.#fileFor(request), MAGIC);
    if (!table) return undefined;
    const written: Written = JSON.parse(table.extra.toString());
    const { identity, tools, stdout, stderr, order, ...hit } = written;
    const same =
      identity === this.#identityOf(request) &&
      tools.every(isUnchanged) &&
      allRowsMatch(table, request.workspace);
    if (!same) return undefined;
    return {
      ...hit,
      log: { stdout: Buffer.from(stdout, 'base64'), stderr: Buffer.from(stderr, 'base64'), order },
    };
  }

  /** Records an action that was found in place. `beganAt`: the clock before its first lstat. */
  record(action: KeyedAction, { hit, outputs, rows: observed }: InPlaceCheck, beganAt: number): void {
    const { request, inputs, tools, key } = action;
    const names = expandPatterns(request.variables, this.#caller).map(({ name }) => name);
    if (inputs.strayLinks.length > 0 || names.includes('PATH') || names.some(looksSecret)) return;
    const rows = new Map(inputs.statRows());
    for (const more of [outputs, observed]) for (const [name, row] of more) rows.set(name, row);
    if (!allSettled(rows.values(), beganAt)) return;
    if (!tools.every(({ rows }) => allSettled(rows, beganAt))) return;
    const { log, ...rest } = hit;
    const written: Written = {
      ...rest,
      key: key.hash,
      step: stepOf(request),
      identity: this.#identityOf(request),
      tools: toolStamps(request.tools, action, this.#caller.PATH ?? ''),
      stdout: log.stdout.toString('base64'),
      stderr: log.stderr.toString('base64'),
      order: log.order,
    };
    writeTable(this.#fileFor(request), MAGIC, tableOf(rows, Buffer.from(JSON.stringify(written))));
  }

  /**
   * One file for each step of a workspace, whatever its inputs are. Steps with the same checksum overwrite
   * each other.
   */
  #fileFor({ workspace, command, workingDirectory, outputs }: RunRequest): string {
    const step = JSON.stringify([workspace, command, workingDirectory, outputs]);
    return join(this.#folder, checksum(Buffer.from(step)).toString(16));
  }

  /** Holds a digest of the variables' values: they may be secret. */
  #identityOf({ variables, ...request }: RunRequest): string {
    const environment = variables.length === 0 ? '' : digestOfValues(variables, this.#caller);
    return JSON.stringify([invalidatorsOf(this.#caller), request, environment]);
  }
}

function digestOfValues(variables: RunRequest['variables'], caller: Variables): string {
  return digestOf(Buffer.from(JSON.stringify(keyedEnvironment(variables, caller)))).hash;
}

function allRowsMatch(table: StatTable, workspace: string): boolean {
  return table.names.every((name, row) => rowMatches(table, row, lstatIn(workspace, name)));
}
