// The memory of the last hit of a step whose outputs were in place: what they and all that the result depends on besides
// its key looked like, and what the command had said. If they look the same again, the store could only confirm what is known, and opening it is more than half of
// what a hit costs (docs/decisions/0032).
//
// It spares no check: the outputs were compared with the result, byte by byte, before they were remembered, and are
// trusted afterwards by the same rule as inputs are (see inputs/settled.ts).
import { digestOf, type Hash } from '../core/digest.ts';
import type { Standing } from '../core/evidence.ts';
import { RUN } from '../core/limits.ts';
import { type AbsPath, isPlain, parentFolder } from '../hermeticity/abspath.ts';
import { takesLocally } from './acceptance.ts';
import type { MemoShelf } from './inputs/memo-shelf.ts';
import { lookAgain } from './inputs/observations.ts';
import { isSettled } from './inputs/settled.ts';
import { type Row, rowAt, rowMatches, rowOf, type StatTable, tableOf } from './inputs/stat-table.ts';
import type { KeyedAction } from './key.ts';
import type { Log } from './log.ts';
import type { Hit } from './lookup.ts';
import type { Output } from './outputs.ts';
import type { RunRequest } from './request.ts';

const MAGIC = 'assay-hit-2';

export interface RememberedHit {
  readonly log: Log;
  readonly exitCode: number;
  /** How long the command took when it ran. */
  readonly commandMs: number;
  readonly standing: Standing;
}

/** As it is written: the streams in base64. */
interface Said {
  readonly key: Hash;
  readonly exitCode: number;
  readonly commandMs: number;
  readonly standing: Standing;
  readonly stdout: string;
  readonly stderr: string;
  readonly order: readonly number[];
}

export class HitMemos {
  readonly #shelf: MemoShelf;

  constructor(shelf: MemoShelf) {
    this.#shelf = shelf;
  }

  /** What there is to say, if this was the step's last action and all its outputs lie as they lay then. */
  recall(action: KeyedAction): RememberedHit | undefined {
    const found = this.#read(action);
    return found && looksTheSame(found.table, action.request.workspace) ? found.hit : undefined;
  }

  /** What the outputs looked like when this action was remembered, whatever they look like now. */
  looks(action: KeyedAction): { hit: RememberedHit; rows: Map<string, Row> } | undefined {
    const found = this.#read(action);
    if (!found) return undefined;
    const { table, hit } = found;
    return { hit, rows: new Map(table.names.map((name, row) => [name, rowAt(table, row)])) };
  }

  #read({ key, request }: KeyedAction): { table: StatTable; hit: RememberedHit } | undefined {
    const table = this.#shelf.read(nameFor(request), MAGIC);
    const said: Said | undefined = table && JSON.parse(table.extra.toString());
    if (!table || said?.key !== key.hash) return undefined;
    const { exitCode, commandMs, standing, stdout, stderr, order } = said;
    if (exitCode !== 0 && !request.cacheFailures) return undefined;
    if (!takesLocally(standing, request)) return undefined;
    const log = { stdout: Buffer.from(stdout, 'base64'), stderr: Buffer.from(stderr, 'base64'), order };
    return { table, hit: { log, exitCode, commandMs, standing } };
  }

  /** `lookedAt`: the clock before the outputs were compared. */
  remember(
    { key, request }: KeyedAction,
    hit: RememberedHit & Pick<Hit, 'outputs' | 'looks'>,
    lookedAt: number,
  ): void {
    const { log, exitCode, commandMs, standing, outputs, looks } = hit;
    if (log.stdout.length + log.stderr.length > RUN.inlineLogBytes) return;
    const rows = new Map<string, ReturnType<typeof rowOf>>();
    for (const path of outputs.flatMap(pathsOf)) {
      const stats = lookAgain(request.workspace, path);
      if (!stats || !isSettled(stats, lookedAt)) return;
      rows.set(path, rowOf(stats));
    }
    for (const look of looks()) {
      if (!isPlain(look)) return;
      const path = standsFor(look, request.workspace);
      const stats = lookAgain(request.workspace, path);
      if (stats && !isSettled(stats, lookedAt)) return;
      rows.set(path, rowOf(stats));
    }
    const said: Said = {
      key: key.hash,
      exitCode,
      commandMs,
      standing,
      stdout: log.stdout.toString('base64'),
      stderr: log.stderr.toString('base64'),
      order: log.order,
    };
    this.#shelf.write(nameFor(request), MAGIC, tableOf(rows, Buffer.from(JSON.stringify(said))));
  }
}

function looksTheSame(table: StatTable, workspace: string): boolean {
  return table.names.every((name, row) => rowMatches(table, row, lookAgain(workspace, name)));
}

/** A folder's own times change when an entry comes or goes. */
function pathsOf(output: Output): string[] {
  const entries = output.kind === 'directory' ? output.entries : [];
  return [output.path, ...entries.map(({ path }) => `${output.path}/${path}`)];
}

/**
 * Where nothing was, nothing comes without touching the folder: one look for all that a compiler missed there. Only among
 * installed software, where folders seldom change.
 */
function standsFor(look: AbsPath, workspace: string): AbsPath {
  return look.startsWith('/usr/') && !lookAgain(workspace, look) ? parentFolder(look) : look;
}

/** One file for each step of each workspace, whatever its inputs are, so that there are never many. */
function nameFor({ workspace, command, workingDirectory, outputs }: RunRequest): string {
  const step = JSON.stringify([workspace, command, workingDirectory, outputs]);
  return digestOf(Buffer.from(step)).hash;
}
