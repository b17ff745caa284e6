// The file that holds the memory of a whole graph (graph-state.ts): one for each workspace.
import { join } from 'node:path';
import type { Hash } from '../../core/digest.ts';
import type { EvidenceStatus } from '../../core/evidence.ts';
import type { Variables } from '../action/environment.ts';
import type { Step } from '../config/step.ts';
import { checksum } from '../files/checksum.ts';
import { readTable, type StatRow, type StatTable, tableOf, writeTable } from '../files/stat-table.ts';
import type { StepTable } from '../graph/graph.ts';
import type { Log } from '../run/log.ts';
import type { ToolStamp } from '../tools/tool-stamp.ts';
import { AbsentPaths, type PathStats } from './absent-paths.ts';
import { invalidatorsOf } from './invalidators.ts';
import { packRows, type RowRanges } from './row-ranges.ts';

const MAGIC = 'assay-graph-7';

/** An output is known by its whole list: something that came into it is not its own. */
const NONE: ReadonlySet<string> = new Set();

/** What a step that was found in place needs for being found so again. */
export interface StepState {
  readonly key: Hash;
  /**
   * The key that its result lies under, and the digest of that result: another run may have made another one.
   */
  readonly address: Hash;
  readonly result: Hash;
  readonly commandMs: number;
  readonly standing: EvidenceStatus;
  readonly log: Log;
  /** Digests of the step's own definition and of its variables' values: values may be nobody's business. */
  readonly definition: string;
  readonly variables: string;
  readonly tools: readonly ToolStamp[];
  /** What decided that this is its result. */
  readonly inputs: PathStats;
  readonly outputs: ReadonlyMap<string, StatRow>;
}

/** As it is written. */
export interface WrittenStep extends Omit<StepState, 'log' | 'tools' | 'inputs' | 'outputs'> {
  readonly stdout: string;
  readonly stderr: string;
  readonly order: readonly number[];
  readonly tools: readonly number[];
  readonly rows: RowRanges;
  readonly outputs: RowRanges;
}

export interface WrittenGraph {
  readonly root: string;
  readonly circumstances: string;
  readonly config: RowRanges;
  readonly steps: readonly Step[];
  readonly tools: readonly ToolStamp[];
  readonly memos: Readonly<Record<string, WrittenStep>>;
  /**
   * Row, number of a list of names, row, number … : the folders of absent-paths.ts that may have other times.
   */
  readonly loose: readonly number[];
  readonly absent: readonly (readonly string[])[];
}

export interface GraphRecord {
  readonly steps: StepTable;
  /** What the configuration was read from, settled. */
  readonly config: PathStats;
  /**
   * Those that were learnt just now come first: where two saw one path in two states, the first one counts.
   */
  readonly states: ReadonlyMap<string, StepState>;
}

export function readStateFile(
  folder: string,
  root: string,
  caller: Variables,
): { table: StatTable; written: WrittenGraph } | undefined {
  const table = readTable(fileFor(folder, root), MAGIC);
  if (!table) return undefined;
  const written: WrittenGraph = JSON.parse(table.extra.toString());
  const isOurs = written.root === root && written.circumstances === invalidatorsOf(caller);
  return isOurs ? { table, written } : undefined;
}

export function writeStateFile(folder: string, root: string, caller: Variables, known: GraphRecord): void {
  const rows = new Map<string, StatRow>();
  const tools = new Numbered<ToolStamp>();
  const implied = new AbsentPaths(known.config.rows);
  const config = packRows(implied.needed(known.config), rows);
  if (!config) return;
  const memos: Record<string, WrittenStep> = {};
  for (const [id, { log, inputs, outputs, ...memo }] of known.states) {
    const needed = packRows(implied.needed(inputs), rows);
    const made = packRows(implied.needed({ rows: outputs, traversed: NONE }), rows);
    if (!needed || !made) continue;
    memos[id] = {
      ...memo,
      stdout: log.stdout.toString('base64'),
      stderr: log.stderr.toString('base64'),
      order: log.order,
      tools: memo.tools.map((tool) => tools.numberOf(tool)),
      rows: needed,
      outputs: made,
    };
  }
  const written: WrittenGraph = {
    root,
    circumstances: invalidatorsOf(caller),
    config,
    steps: [...known.steps.values()],
    tools: tools.values,
    memos,
    ...numbered(implied.looseFolders(), rows),
  };
  writeTable(fileFor(folder, root), MAGIC, tableOf(rows, Buffer.from(JSON.stringify(written))));
}

function numbered(
  folders: ReadonlyMap<string, readonly string[]>,
  rows: ReadonlyMap<string, StatRow>,
): Pick<WrittenGraph, 'loose' | 'absent'> {
  const positions = new Map([...rows.keys()].map((name, row) => [name, row]));
  const lists = new Numbered<readonly string[]>();
  const loose = [...folders].flatMap(([folder, names]) => {
    const row = positions.get(folder);
    return row === undefined ? [] : [row, lists.numberOf(names)];
  });
  return { loose, absent: lists.values };
}

/** Values that are written once, however often they occur. */
class Numbered<T> {
  readonly values: T[] = [];
  readonly #numbers = new Map<string, number>();

  numberOf(value: T): number {
    const name = JSON.stringify(value);
    const known = this.#numbers.get(name) ?? this.values.push(value) - 1;
    this.#numbers.set(name, known);
    return known;
  }
}

/** Two workspaces that share a name take turns. */
function fileFor(folder: string, root: string): string {
  return join(folder, checksum(Buffer.from(root)).toString(16));
}
