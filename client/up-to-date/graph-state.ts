// The memory of a whole graph: the steps that an assay.json and its packages gave, and for each step that was
// last found in place, everything that decided so. If all of it looks the same, the same answer is right
// again, and nothing needs to be parsed, scanned or opened (docs/decisions/0111). If only its outputs look
// otherwise, its result is known, and is read and restored without a scan and a key (docs/decisions/0160).
//
// It holds no condition less than the memories it is made of: what the scan of the inputs looked at
// (inputs/scan-memo.ts), what the outputs looked like (in-place.ts), the declared variables, the tools by
// what their files look like, PATH, the platform, and the versions of Assay and its key. Nothing is taken in
// that had not settled (inputs/settled.ts).
import type { Stats } from 'node:fs';
import type { Variables } from '../action/environment.ts';
import type { Step } from '../config/step.ts';
import { isSettled } from '../files/settled.ts';
import { lstatIn } from '../files/stat-recorder.ts';
import { rowAt, rowMatches, rowOf, type StatRow, type StatTable, sameRow } from '../files/stat-table.ts';
import type { StepTable } from '../graph/graph.ts';
import type { Log } from '../run/log.ts';
import { isUnchanged } from '../tools/tool-stamp.ts';
import { type PathStats, withAbsentPaths } from './absent-paths.ts';
import { type RowRanges, rowsIn } from './row-ranges.ts';
import { readStateFile, type StepState, type WrittenGraph, type WrittenStep } from './state-file.ts';
import { variablesDigest } from './variables-digest.ts';

const LOOK = { unknown: 0, same: 1, other: 2, gone: 3 } as const;

export class GraphState {
  readonly #root: string;
  readonly #caller: Variables;
  readonly #table: StatTable;
  readonly #written: WrittenGraph;
  /** How a row looks (LOOK); asked once, until something ran that may have changed it. */
  readonly #looks: Uint8Array;
  /** What the rows of outputs look like that are known to be what they were, and look otherwise. */
  readonly #renewed = new Map<number, StatRow>();
  /**
   * What folders look like, settled, that have other times than they had and still not the names that they
   * had not.
   */
  readonly #touched = new Map<string, StatRow>();
  /** Before anything was looked at. */
  readonly #openedAt = Date.now();
  readonly #variables = new Map<string, string>();
  readonly #tools = new Map<number, boolean>();
  #loose: ReadonlyMap<string, readonly string[]> | undefined;

  private constructor(root: string, caller: Variables, table: StatTable, written: WrittenGraph) {
    this.#root = root;
    this.#caller = caller;
    this.#table = table;
    this.#written = written;
    this.#looks = new Uint8Array(table.names.length);
  }

  static open(folder: string, root: string, caller: Variables): GraphState | undefined {
    const read = readStateFile(folder, root, caller);
    return read && new GraphState(root, caller, read.table, read.written);
  }

  /** The steps, if the configuration looks as it did. */
  steps(): StepTable | undefined {
    const { config, steps } = this.#written;
    return this.#allTheSame(config) ? new Map(steps.map((step) => [step.id, step])) : undefined;
  }

  configStats(): PathStats {
    return this.#looksOf(this.#written.config);
  }

  /**
   * How the step was found in place, if everything that decided upon its result is as it was. `definition` is
   * asked where it may have changed.
   */
  lookup(step: Step, definition: (() => string) | undefined): WrittenStep | undefined {
    const memo = this.#memoOf(step.id);
    if (!memo || (definition && memo.definition !== definition())) return undefined;
    const same =
      memo.variables === this.#variablesOf(step) &&
      memo.tools.every((tool) => this.#isSameTool(tool)) &&
      this.#allTheSame(memo.rows);
    return same ? memo : undefined;
  }

  isInPlace({ outputs }: WrittenStep): boolean {
    return this.#allTheSame(outputs);
  }

  /** Whether nothing lies where one of the outputs was, as far as they have been looked at. */
  lacksOutputs({ outputs }: WrittenStep): boolean {
    return rowsIn(outputs).some((row) => this.#looks[row] === LOOK.gone);
  }

  /** A step's outputs are what they were, and look like this now. */
  setOutputStats(id: string, looks: ReadonlyMap<string, StatRow>): void {
    for (const row of rowsIn(this.#memoOf(id)?.outputs ?? [])) {
      const look = looks.get(this.#nameOf(row));
      if (look) this.#renewed.set(row, look);
      this.#looks[row] = LOOK.unknown;
    }
  }

  /**
   * The memory of a step as it was written, to be carried over into the next file; `renewed`: what looks
   * otherwise now.
   */
  stepState(id: string, renewed: ReadonlyMap<string, StatRow>): StepState | undefined {
    const memo = this.#memoOf(id);
    if (!memo) return undefined;
    return {
      ...memo,
      log: logOf(memo),
      tools: memo.tools.flatMap((at) => this.#written.tools[at] ?? []),
      inputs: this.#looksOf(memo.rows, renewed),
      outputs: this.#rowsOf(memo.outputs, renewed),
    };
  }

  /** A command ran, or something was restored that was not known: everything is looked at anew. */
  forgetStats(): void {
    this.#looks.fill(LOOK.unknown);
    this.#renewed.clear();
    this.#tools.clear();
  }

  #memoOf(id: string): WrittenStep | undefined {
    return Object.hasOwn(this.#written.memos, id) ? this.#written.memos[id] : undefined;
  }

  #nameOf(row: number): string {
    return this.#table.names[row] ?? '';
  }

  #looksOf(ranges: RowRanges, renewed?: ReadonlyMap<string, StatRow>): PathStats {
    return withAbsentPaths(this.#rowsOf(ranges, renewed), this.#looseFolders());
  }

  #rowsOf(ranges: RowRanges, renewed: ReadonlyMap<string, StatRow> = new Map()): Map<string, StatRow> {
    return new Map(
      rowsIn(ranges).map((row) => {
        const name = this.#nameOf(row);
        return [name, renewed.get(name) ?? this.#touched.get(name) ?? rowAt(this.#table, row)];
      }),
    );
  }

  #variablesOf({ env }: Step): string {
    const name = env.join('\0');
    const known = this.#variables.get(name) ?? variablesDigest(env, this.#caller);
    this.#variables.set(name, known);
    return known;
  }

  #isSameTool(at: number): boolean {
    const tool = this.#written.tools[at];
    const known = this.#tools.get(at) ?? (tool !== undefined && isUnchanged(tool));
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
    if (this.#looks[row] === LOOK.unknown) this.#looks[row] = this.#lookAt(row);
    return this.#looks[row] === LOOK.same;
  }

  #lookAt(row: number): number {
    const stats = lstatIn(this.#root, this.#nameOf(row));
    if (this.#looksTheSame(row, stats)) return LOOK.same;
    return stats ? LOOK.other : LOOK.gone;
  }

  #looksTheSame(row: number, stats: Stats | undefined): boolean {
    const renewed = this.#renewed.get(row);
    if (renewed) return sameRow(renewed, rowOf(stats));
    return rowMatches(this.#table, row, stats) || (stats !== undefined && this.#isLoose(row, stats));
  }

  /** Whether it is a folder of which only the names counted that were not in it, and they still are not. */
  #isLoose(row: number, stats: Stats): boolean {
    const folder = this.#nameOf(row);
    const names = stats.isDirectory() ? this.#looseFolders().get(folder) : undefined;
    if (!names?.every((name) => !lstatIn(this.#root, `${folder}/${name}`))) return false;
    if (isSettled(stats, this.#openedAt)) this.#touched.set(folder, rowOf(stats));
    return true;
  }

  #looseFolders(): ReadonlyMap<string, readonly string[]> {
    this.#loose ??= looseFolders(this.#written, this.#table);
    return this.#loose;
  }
}

function looseFolders({ loose, absent }: WrittenGraph, { names }: StatTable): Map<string, readonly string[]> {
  const folders = new Map<string, readonly string[]>();
  for (let at = 0; at < loose.length; at += 2) {
    const [row = 0, list = 0] = [loose[at], loose[at + 1]];
    folders.set(names[row] ?? '', absent[list] ?? []);
  }
  return folders;
}

/** Most commands say nothing. */
export function logOf({ stdout, stderr, order }: WrittenStep): Log {
  if (stdout === '' && stderr === '') return SILENCE;
  return { stdout: Buffer.from(stdout, 'base64'), stderr: Buffer.from(stderr, 'base64'), order };
}

const SILENCE: Log = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0), order: [] };
