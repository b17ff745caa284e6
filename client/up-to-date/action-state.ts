// The memory of one action that was last found with its outputs in place: everything that decided so. If all
// of it looks the same, the same answer is right again, and neither a key has to be made nor a store to be
// opened (docs/decisions/0130).
//
// It spares no check: it holds what the scan of the inputs looked at, what the outputs looked like after they
// had been compared with the result, the tools by what their files look like, a digest of the declared
// variables, and the request itself, word by word. Nothing is taken in that had not settled
// (inputs/settled.ts).
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
import type { InPlace, RememberedHit } from '../outputs/in-place.ts';
import type { KeyedAction } from '../run/key.ts';
import { isUnchanged, type ToolStamp, toolStamps } from '../tools/tool-stamp.ts';
import { invalidatorsOf } from './invalidators.ts';

const MAGIC = 'assay-action-3';

export interface UpToDateHit extends RememberedHit {
  readonly key: Hash;
  /** What the history calls its step. */
  readonly step: Hash;
}

/** As it is written: the streams in base64. */
interface Written extends Omit<UpToDateHit, 'log'> {
  /** All that was asked for, and under which circumstances. */
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

  /** The hit that this request was the last time, if it would be the same one now. */
  lookup(request: RunRequest): UpToDateHit | undefined {
    const table = readTable(this.#fileFor(request), MAGIC);
    if (!table) return undefined;
    const written: Written = JSON.parse(table.extra.toString());
    const { identity, tools, stdout, stderr, order, ...hit } = written;
    const same =
      identity === this.#identityOf(request) &&
      tools.every(isUnchanged) &&
      looksTheSame(table, request.workspace);
    if (!same) return undefined;
    return {
      ...hit,
      log: { stdout: Buffer.from(stdout, 'base64'), stderr: Buffer.from(stderr, 'base64'), order },
    };
  }

  /** Takes in an action that was found in place. `beganAt`: the clock before anything of it was looked at. */
  record(action: KeyedAction, { hit, outputs, rows: besides }: InPlace, beganAt: number): void {
    const { request, inputs, tools, key } = action;
    const names = expandPatterns(request.variables, this.#caller).map(({ name }) => name);
    if (inputs.strayLinks.length > 0 || names.includes('PATH') || names.some(looksSecret)) return;
    const rows = new Map(inputs.statRows());
    for (const more of [outputs, besides]) for (const [name, row] of more) rows.set(name, row);
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

  /** One file for each step of each workspace, whatever its inputs are. Two that share a name take turns. */
  #fileFor({ workspace, command, workingDirectory, outputs }: RunRequest): string {
    const step = JSON.stringify([workspace, command, workingDirectory, outputs]);
    return join(this.#folder, checksum(Buffer.from(step)).toString(16));
  }

  /** Values of variables may be nobody's business, so there is a digest of them. */
  #identityOf({ variables, ...request }: RunRequest): string {
    const environment = variables.length === 0 ? '' : digestOfValues(variables, this.#caller);
    return JSON.stringify([invalidatorsOf(this.#caller), request, environment]);
  }
}

function digestOfValues(variables: RunRequest['variables'], caller: Variables): string {
  return digestOf(Buffer.from(JSON.stringify(keyedEnvironment(variables, caller)))).hash;
}

function looksTheSame(table: StatTable, workspace: string): boolean {
  return table.names.every((name, row) => rowMatches(table, row, lstatIn(workspace, name)));
}
