// The memory of a whole graph: the steps that an assay.json and its packages gave, and for each step that was last found
// in place, everything that decided so. If all of it looks the same, the same answer is right again, and nothing needs to
// be parsed, scanned or opened (docs/decisions/0111).
//
// It holds no condition less than the memories it is made of: what the scan of the inputs looked at (inputs/scan-memo.ts),
// what the outputs looked like (hit-memo.ts), the declared variables, the tools by what their files look like, PATH, the
// platform, and the versions of Assay and its key. Nothing is taken in that had not settled (inputs/settled.ts).
import { join } from 'node:path';
import type { Standing } from '../../core/evidence.ts';
import { circumstancesOf } from '../circumstances.ts';
import type { Step } from '../config/step.ts';
import type { Variables } from '../environment.ts';
import { checksum } from '../inputs/checksum.ts';
import { lookAgain } from '../inputs/observations.ts';
import {
  isAbsent,
  type Row,
  readTable,
  rowAt,
  rowMatches,
  type StatTable,
  tableOf,
  writeTable,
} from '../inputs/stat-table.ts';
import type { Log } from '../log.ts';
import { stampOf, type ToolLook } from '../tool-look.ts';
import type { StepTable } from './graph.ts';
import { packRows, type RowRanges, rowsIn } from './row-ranges.ts';
import { variablesDigest } from './variables-digest.ts';

const MAGIC = 'assay-graph-2';

/** What a step that was found in place needs for being found so again, beside the rows of what it looked at. */
export interface StepMemo {
  readonly key: string;
  readonly commandMs: number;
  readonly standing: Standing;
  readonly log: Log;
  /** Digests of the step's own definition and of its variables' values: values may be nobody's business. */
  readonly definition: string;
  readonly variables: string;
  readonly tools: readonly ToolLook[];
  readonly rows: ReadonlyMap<string, Row>;
}

/** As it is written. */
interface WrittenMemo {
  readonly key: string;
  readonly commandMs: number;
  readonly standing: Standing;
  readonly stdout: string;
  readonly stderr: string;
  readonly order: readonly number[];
  readonly definition: string;
  readonly variables: string;
  readonly tools: readonly number[];
  readonly rows: RowRanges;
}

interface Written {
  readonly root: string;
  readonly circumstances: string;
  readonly config: RowRanges;
  readonly steps: readonly Step[];
  readonly tools: readonly ToolLook[];
  readonly memos: Readonly<Record<string, WrittenMemo>>;
}

export class GraphMemo {
  readonly #root: string;
  readonly #caller: Variables;
  readonly #table: StatTable;
  readonly #written: Written;
  /** Whether a row looks as it did; asked once, until something ran that may have changed it. */
  readonly #looks: Int8Array;
  readonly #variables = new Map<string, string>();
  readonly #tools = new Map<number, boolean>();

  private constructor(root: string, caller: Variables, table: StatTable, written: Written) {
    this.#root = root;
    this.#caller = caller;
    this.#table = table;
    this.#written = written;
    this.#looks = new Int8Array(table.names.length);
  }

  static open(folder: string, root: string, caller: Variables): GraphMemo | undefined {
    const table = readTable(fileFor(folder, root), MAGIC);
    if (!table) return undefined;
    const written: Written = JSON.parse(table.extra.toString());
    return written.root === root && written.circumstances === circumstancesOf(caller)
      ? new GraphMemo(root, caller, table, written)
      : undefined;
  }

  /** The steps, if the configuration looks as it did. */
  steps(): StepTable | undefined {
    const { config, steps } = this.#written;
    return this.#allTheSame(config) ? new Map(steps.map((step) => [step.id, step])) : undefined;
  }

  configLooks(): Map<string, Row> {
    return this.#looksOf(this.#written.config);
  }

  #looksOf(ranges: RowRanges): Map<string, Row> {
    return new Map(rowsIn(ranges).map((row) => [this.#table.names[row] ?? '', rowAt(this.#table, row)]));
  }

  /** How the step was found in place, if it would be found so again. `definition` is asked where it may have changed. */
  recall(step: Step, definition: (() => string) | undefined): WrittenHit | undefined {
    const memo = Object.hasOwn(this.#written.memos, step.id) ? this.#written.memos[step.id] : undefined;
    if (!memo || (definition && memo.definition !== definition())) return undefined;
    const same =
      memo.variables === this.#variablesOf(step) &&
      memo.tools.every((tool) => this.#isSameTool(tool)) &&
      this.#allTheSame(memo.rows);
    return same ? memo : undefined;
  }

  /** The memory of a step as it was written, to be carried over into the next file. */
  carried(id: string): StepMemo | undefined {
    const memo = this.#written.memos[id];
    if (!memo) return undefined;
    return {
      ...memo,
      log: logOf(memo),
      tools: memo.tools.flatMap((at) => this.#written.tools[at] ?? []),
      rows: this.#looksOf(memo.rows),
    };
  }

  /** A command ran or outputs were restored: everything is looked at anew. */
  lookAnew(): void {
    this.#looks.fill(0);
  }

  #variablesOf({ env }: Step): string {
    const name = env.join('\0');
    const known = this.#variables.get(name) ?? variablesDigest(env, this.#caller);
    this.#variables.set(name, known);
    return known;
  }

  #isSameTool(at: number): boolean {
    const tool = this.#written.tools[at];
    const known = this.#tools.get(at) ?? (tool !== undefined && stampOf(tool) === tool.stamp);
    this.#tools.set(at, known);
    return known;
  }

  #allTheSame(ranges: RowRanges): boolean {
    for (let at = 0; at < ranges.length; at += 2) {
      const [start = 0, count = 0] = [ranges[at], ranges[at + 1]];
      for (let row = start; row < start + count; row++) if (!this.#isSame(row)) return false;
    }
    return true;
  }

  #isSame(row: number): boolean {
    if (this.#looks[row] === 0) {
      const same = rowMatches(this.#table, row, lookAgain(this.#root, this.#table.names[row] ?? ''));
      this.#looks[row] = same ? 1 : -1;
    }
    return this.#looks[row] === 1;
  }
}

export type WrittenHit = Pick<WrittenMemo, 'key' | 'commandMs' | 'standing' | 'stdout' | 'stderr' | 'order'>;

/** Most commands say nothing. */
export function logOf({ stdout, stderr, order }: WrittenHit): Log {
  if (stdout === '' && stderr === '') return SILENCE;
  return { stdout: Buffer.from(stdout, 'base64'), stderr: Buffer.from(stderr, 'base64'), order };
}

const SILENCE: Log = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0), order: [] };

export interface Remembered {
  readonly steps: StepTable;
  /** What the configuration was read from, settled. */
  readonly config: ReadonlyMap<string, Row>;
  readonly memos: ReadonlyMap<string, StepMemo>;
}

/** Nothing is written if two steps saw one path in two states: one of them changed while this went on. */
export function writeGraphMemo(folder: string, root: string, caller: Variables, known: Remembered): void {
  const rows = new Map<string, Row>();
  const tools = new Map<string, { at: number; tool: ToolLook }>();
  const config = packRows(withoutImplied(known.config, known.config), rows);
  if (!config) return;
  const memos: Record<string, WrittenMemo> = {};
  for (const [id, memo] of known.memos) {
    const ranges = packRows(withoutImplied(memo.rows, known.config), rows);
    if (!ranges) return;
    const { key, commandMs, standing, log, definition, variables } = memo;
    memos[id] = {
      key,
      commandMs,
      standing,
      stdout: log.stdout.toString('base64'),
      stderr: log.stderr.toString('base64'),
      order: log.order,
      definition,
      variables,
      tools: memo.tools.map((tool) => positionOf(tool, tools)),
      rows: ranges,
    };
  }
  const written: Written = {
    root,
    circumstances: circumstancesOf(caller),
    config,
    steps: [...known.steps.values()],
    tools: [...tools.values()].map(({ tool }) => tool),
    memos,
  };
  writeTable(fileFor(folder, root), MAGIC, tableOf(rows, Buffer.from(JSON.stringify(written))));
}

/**
 * That nothing is at a name need not be looked at where its folder is: the folder's times change when an entry comes. So
 * the folder, which the configuration has mostly looked at anyway, takes the place of all that is not in it. (A link to a
 * folder would not do; nothing that is looked at here lies behind one, see inputs/scan.ts and memory.ts.)
 */
function withoutImplied(rows: ReadonlyMap<string, Row>, config: ReadonlyMap<string, Row>): Map<string, Row> {
  const needed = new Map<string, Row>();
  for (const [name, row] of rows) {
    const [looked, seen] = isAbsent(row) ? witnessOf(name, row, rows, config) : [name, row];
    needed.set(looked, seen);
  }
  return needed;
}

/** The nearest folder that is there, if all between it and the name are known not to be. Outside, it may be a link. */
function witnessOf(
  name: string,
  absent: Row,
  rows: ReadonlyMap<string, Row>,
  config: ReadonlyMap<string, Row>,
): [string, Row] {
  if (name.startsWith('/')) return [name, absent];
  for (let at = name.lastIndexOf('/'); at > 0; at = name.lastIndexOf('/', at - 1)) {
    const folder = name.slice(0, at);
    const row = rows.get(folder) ?? config.get(folder);
    if (!row) break;
    if (!isAbsent(row)) return [folder, row];
  }
  return [name, absent];
}

function positionOf(tool: ToolLook, tools: Map<string, { at: number; tool: ToolLook }>): number {
  const name = JSON.stringify(tool);
  const known = tools.get(name) ?? { at: tools.size, tool };
  tools.set(name, known);
  return known.at;
}

/** Two workspaces that share a name take turns. */
function fileFor(folder: string, root: string): string {
  return join(folder, checksum(Buffer.from(root)).toString(16));
}
