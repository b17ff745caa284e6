// Reads and writes the state file of a graph: one file for the steps of a workspace, and one for each single run.
// All are in the client folder.
// The interfaces Written… are the format of the file: their field names do not change without a new MAGIC.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Variables } from '../action/environment.ts';
import type { Step, StepTable } from '../config/step.ts';
import { checksum } from '../files/checksum.ts';
import { readTable, type StatRow, type StatTable, tableOf, writeTable } from '../files/stat-table.ts';
import { clientFolder } from '../local-store/client-folder.ts';
import type { ToolStamp } from '../tools/tool-stamp.ts';
import { AbsentPaths, type PathStats } from './absent-paths.ts';
import { invalidatorsOf } from './invalidators.ts';
import { packRows, type RowRanges } from './row-ranges.ts';
import type { StepState } from './step-state.ts';

const MAGIC = 'assay-graph-12';

/** Every folder of an output counts as listed: a file that was added to it is not an output. */
const NO_FOLDERS: ReadonlySet<string> = new Set();

/** The graph that a state belongs to. */
export interface GraphName {
  /** The folder that the paths are relative to. */
  readonly root: string;
  /** What tells a single run from others in this folder; absent for the steps of the configuration. */
  readonly single?: string;
}

export interface WrittenStep extends Omit<StepState, 'log' | 'tools' | 'inputs' | 'outputs'> {
  readonly stdout: string;
  readonly stderr: string;
  readonly order: readonly number[];
  readonly tools: readonly number[];
  readonly rows: RowRanges;
  readonly outputs: RowRanges;
}

export interface WrittenGraph extends GraphName {
  /** Of invalidators.ts. */
  readonly invalidators: string;
  readonly config: RowRanges;
  readonly steps: readonly Step[];
  readonly tools: readonly ToolStamp[];
  readonly states: Readonly<Record<string, WrittenStep>>;
  /** Row, index into `absent`, row, index … : the folders whose times may change (absent-paths.ts). */
  readonly loose: readonly number[];
  readonly absent: readonly (readonly string[])[];
}

interface GraphRecord {
  readonly steps: StepTable;
  /** The settled stats of the files of the configuration. */
  readonly config: PathStats;
  /** Newly recorded steps first: if two steps saw different rows of one path, the first one is kept (G5). */
  readonly states: ReadonlyMap<string, StepState>;
}

export function readStateFile(
  storeFolder: string,
  graph: GraphName,
  caller: Variables,
): { table: StatTable; written: WrittenGraph } | undefined {
  const table = readTable(fileFor(storeFolder, graph), MAGIC);
  if (!table) return undefined;
  const written: WrittenGraph = JSON.parse(table.extra.toString());
  const { root, single, invalidators } = written;
  const isCurrent = root === graph.root && single === graph.single && invalidators === invalidatorsOf(caller);
  return isCurrent ? { table, written } : undefined;
}

export function writeStateFile(
  storeFolder: string,
  graph: GraphName,
  caller: Variables,
  record: GraphRecord,
): void {
  const rows = new Map<string, StatRow>();
  const tools = new Numbered<ToolStamp>();
  const absentPaths = new AbsentPaths(record.config.rows);
  const config = packRows(absentPaths.needed(record.config), rows);
  if (!config) return;
  const states: Record<string, WrittenStep> = {};
  for (const [id, { log, inputs, outputs, ...rest }] of record.states) {
    const needed = packRows(absentPaths.needed(inputs), rows);
    const made = packRows(absentPaths.needed({ rows: outputs, traversed: NO_FOLDERS }), rows);
    if (!needed || !made) continue;
    states[id] = {
      ...rest,
      stdout: log.stdout.toString('base64'),
      stderr: log.stderr.toString('base64'),
      order: log.order,
      tools: rest.tools.map((tool) => tools.numberOf(tool)),
      rows: needed,
      outputs: made,
    };
  }
  const written: WrittenGraph = {
    ...graph,
    invalidators: invalidatorsOf(caller),
    config,
    steps: [...record.steps.values()],
    tools: tools.values,
    states,
    ...numbered(absentPaths.absentNames(), rows),
  };
  writeTable(fileFor(storeFolder, graph), MAGIC, tableOf(rows, Buffer.from(JSON.stringify(written))));
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

/** Numbers equal values, so that each is written once. */
class Numbered<T> {
  readonly values: T[] = [];
  readonly #numbers = new Map<string, number>();

  numberOf(value: T): number {
    const name = JSON.stringify(value);
    const number = this.#numbers.get(name) ?? this.values.push(value) - 1;
    this.#numbers.set(name, number);
    return number;
  }
}

/** Then no step of this user is up to date: each next run looks its result up. */
export function removeStateFiles(storeFolder: string): void {
  rmSync(folderIn(storeFolder), { recursive: true, force: true });
}

/** Graphs with the same checksum overwrite each other; their names in the file tell them apart. */
function fileFor(storeFolder: string, { root, single = '' }: GraphName): string {
  return join(folderIn(storeFolder), checksum(Buffer.from(`${root}\0${single}`)).toString(16));
}

function folderIn(storeFolder: string): string {
  return join(clientFolder(storeFolder), 'graph');
}
