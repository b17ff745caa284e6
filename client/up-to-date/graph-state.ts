// The recorded state of a graph: its steps, and all that decided that a step was in place.
// If all of it is unchanged, the step is up to date: nothing is parsed, scanned, opened or run. A single run
// (run-unless-up-to-date.ts) is a graph of one step without a configuration.
//
// If only the outputs of a step differ, its result is still known: graph/restore-known-step.ts restores it
// without a scan and a key (docs/decisions/0160). docs/decisions/0111 has the measurements.
//
//   G1  A step is up to date only if all of these are unchanged: the invalidators, its definition, its
//       variables, its tools, its input rows, its properties of the machine and its output rows.
//   G2  The state file holds only settled stats (files/settled.ts).
//   G3  After a command has run, no earlier check of a row, a tool or a property counts: each is checked again.
//   G4  A step that was executed, or whose definition changed, is not carried over into the next file. A step
//       that was executed or restored is recorded anew if it is in place after the last command (graph/made-steps.ts).
//   G5  The file has one row for each path. A step that saw another row for that path is left out. Newer rows of the
//       configuration are taken only if it was read again and has the same steps, or from folders of G6.
//   G6  An absent path is checked itself or through a folder above it (absent-paths.ts): a folder with
//       unchanged times still lacks the name; in one with changed times each absent name is checked. The folder of
//       a path that a command looked for proves it only if no link leads there, and no step makes an output there.
//   G7  A file that is missing, torn, of another graph, or written under other invalidators gives no state.
//   G8  A step is recorded only after its outputs were compared with the result, by digest.
//   G9  A step with a stray link, a declared PATH or a variable that looks secret is not recorded.
//   G10 A property is recorded with the state for which the result was found, and compared by reading it again. A
//       property that this process can't read again by its name keeps its step from being recorded.
//
// A step between two runs:
//
//             found in place, all stats settled
//   no state ───────────────────────────────────> recorded ──> all unchanged: up to date
//      ^                                          │   ^ └────> only outputs differ: restored from its result
//      │   executed, or definition changed (G4)   │   │ carried over, or outputs confirmed
//      └──────────────────────────────────────────┘   └──────
//
// A row during one run:
//
//             lstat equal ──> same ─────┐
//   unknown ─ lstat differs ─> changed ─┼─ stepRan (G3), setOutputStats ──> unknown
//             nothing there ─> absent ──┘
import type { Stats } from 'node:fs';
import type { Variables } from '../action/environment.ts';
import type { StepTable } from '../config/step.ts';
import { isSettled } from '../files/settled.ts';
import { lstatIn } from '../files/stat-recorder.ts';
import { rowAt, rowMatches, rowOf, type StatRow, type StatTable, sameRow } from '../files/stat-table.ts';
import { Machine } from '../path-sets/machine.ts';
import type { Log } from '../process/log.ts';
import { isUnchanged } from '../tools/tool-stamp.ts';
import { type PathStats, withAbsentPaths } from './absent-paths.ts';
import { type RowRanges, rowsIn } from './row-ranges.ts';
import { type GraphName, readStateFile, type WrittenGraph, type WrittenStep } from './state-file.ts';
import type { StepState } from './step-state.ts';

const CHECK = { unknown: 0, same: 1, changed: 2, absent: 3 } as const;

/** A step as it is declared now, in the terms of StepState. */
export interface DeclaredStep {
  readonly id: string;
  readonly variables: () => string;
  readonly definition?: (() => string) | undefined;
}

export class GraphState {
  readonly #root: string;
  readonly #table: StatTable;
  readonly #written: WrittenGraph;
  /** The CHECK of each row: computed once, until a command runs (G3). */
  readonly #checks: Uint8Array;
  /**
   * The current stats of outputs whose content this run has restored or compared. They replace the recorded
   * rows.
   */
  readonly #confirmed = new Map<number, StatRow>();
  /** The settled stats of folders whose times changed and that still lack their absent names (G6). */
  readonly #newTimes = new Map<string, StatRow>();
  /** Before the first lstat. */
  readonly #openedAt = Date.now();
  readonly #tools = new Map<number, boolean>();
  #machine: Machine;
  #absent: ReadonlyMap<string, readonly string[]> | undefined;

  private constructor(table: StatTable, written: WrittenGraph) {
    this.#root = written.root;
    this.#table = table;
    this.#written = written;
    this.#checks = new Uint8Array(table.names.length);
    this.#machine = new Machine(written.root);
  }

  static open(storeFolder: string, graph: GraphName, caller: Variables): GraphState | undefined {
    const read = readStateFile(storeFolder, graph, caller);
    return read && new GraphState(read.table, read.written);
  }

  /** The steps, if all files of the configuration are unchanged. */
  steps(): StepTable | undefined {
    const { config, steps } = this.#written;
    return this.#allSame(config) ? new Map(steps.map((step) => [step.id, step])) : undefined;
  }

  configStats(): PathStats {
    return this.#statsOf(this.#written.config);
  }

  /**
   * The recorded step, if everything that its result depends on is unchanged (G1 without the outputs).
   * `definition` is absent if the recorded configuration is unchanged.
   */
  lookup({ id, variables, definition }: DeclaredStep): WrittenStep | undefined {
    const written = this.#stepOf(id);
    if (!written || (definition && written.definition !== definition())) return undefined;
    const same =
      written.variables === variables() &&
      written.tools.every((tool) => this.#isSameTool(tool)) &&
      this.#allSame(written.rows) &&
      written.properties.every(([property, state]) => this.#machine.state(property) === state);
    return same ? written : undefined;
  }

  isInPlace({ outputs }: WrittenStep): boolean {
    return this.#allSame(outputs);
  }

  /** Whether an output is absent, as far as the outputs have been checked. */
  lacksOutputs({ outputs }: WrittenStep): boolean {
    return rowsIn(outputs).some((row) => this.#checks[row] === CHECK.absent);
  }

  /** Sets the stats of outputs whose content is correct. */
  setOutputStats(id: string, stats: ReadonlyMap<string, StatRow>): void {
    for (const row of rowsIn(this.#stepOf(id)?.outputs ?? [])) {
      const now = stats.get(this.#nameOf(row));
      if (now) this.#confirmed.set(row, now);
      this.#checks[row] = CHECK.unknown;
    }
  }

  /**
   * The state of a step, to be carried over into the next file. `confirmed`: new stats of correct outputs.
   */
  stepState(id: string, confirmed: ReadonlyMap<string, StatRow>): StepState | undefined {
    const written = this.#stepOf(id);
    if (!written) return undefined;
    return {
      ...written,
      log: logOf(written),
      tools: written.tools.flatMap((at) => this.#written.tools[at] ?? []),
      inputs: this.#statsOf(written.rows, confirmed),
      outputs: this.#rowsOf(written.outputs, confirmed),
    };
  }

  /** Called after a command ran, or after outputs were restored from a result that was looked up (G3). */
  forgetStats(): void {
    this.#checks.fill(CHECK.unknown);
    this.#confirmed.clear();
    this.#tools.clear();
    this.#machine = new Machine(this.#root);
  }

  #stepOf(id: string): WrittenStep | undefined {
    return Object.hasOwn(this.#written.states, id) ? this.#written.states[id] : undefined;
  }

  #nameOf(row: number): string {
    return this.#table.names[row] ?? '';
  }

  #statsOf(ranges: RowRanges, confirmed?: ReadonlyMap<string, StatRow>): PathStats {
    return withAbsentPaths(this.#rowsOf(ranges, confirmed), this.#absentNames());
  }

  #rowsOf(ranges: RowRanges, confirmed: ReadonlyMap<string, StatRow> = new Map()): Map<string, StatRow> {
    return new Map(
      rowsIn(ranges).map((row) => {
        const name = this.#nameOf(row);
        return [name, confirmed.get(name) ?? this.#newTimes.get(name) ?? rowAt(this.#table, row)];
      }),
    );
  }

  #isSameTool(at: number): boolean {
    const tool = this.#written.tools[at];
    const known = this.#tools.get(at) ?? (tool !== undefined && isUnchanged(tool));
    this.#tools.set(at, known);
    return known;
  }

  /** Few calls for each row: a hit ends before they are compiled. */
  #allSame(ranges: RowRanges): boolean {
    const checks = this.#checks;
    for (let at = 0; at < ranges.length; at += 2) {
      const start = ranges[at] ?? 0;
      const end = start + (ranges[at + 1] ?? 0);
      for (let row = start; row < end; row++) {
        if (checks[row] === CHECK.unknown) checks[row] = this.#check(row);
        if (checks[row] !== CHECK.same) return false;
      }
    }
    return true;
  }

  /** A path that cannot be looked at any more has changed. Whether that is an error is for the full lookup to say. */
  #check(row: number): number {
    try {
      const stats = lstatIn(this.#root, this.#table.names[row] ?? '');
      const confirmed = this.#confirmed.get(row);
      const isSame = confirmed
        ? sameRow(confirmed, rowOf(stats))
        : rowMatches(this.#table, row, stats) || (stats !== undefined && this.#lacksNames(row, stats));
      if (isSame) return CHECK.same;
      return stats ? CHECK.changed : CHECK.absent;
    } catch {
      return CHECK.changed;
    }
  }

  /** Whether the row is a folder that was only checked for absent names, and it still lacks them (G6). */
  #lacksNames(row: number, stats: Stats): boolean {
    const folder = this.#nameOf(row);
    const names = stats.isDirectory() ? this.#absentNames().get(folder) : undefined;
    if (!names?.every((name) => !lstatIn(this.#root, `${folder}/${name}`))) return false;
    if (isSettled(stats, this.#openedAt)) this.#newTimes.set(folder, rowOf(stats));
    return true;
  }

  #absentNames(): ReadonlyMap<string, readonly string[]> {
    this.#absent ??= absentNames(this.#written, this.#table);
    return this.#absent;
  }
}

function absentNames({ loose, absent }: WrittenGraph, { names }: StatTable): Map<string, readonly string[]> {
  const folders = new Map<string, readonly string[]>();
  for (let at = 0; at < loose.length; at += 2) {
    const [row = 0, list = 0] = [loose[at], loose[at + 1]];
    folders.set(names[row] ?? '', absent[list] ?? []);
  }
  return folders;
}

/** What a run says of an up-to-date step. */
export function hitOf({ key, exitCode, commandMs, status }: WrittenStep): UpToDateHit {
  return { key, exitCode, commandMs, status, ...IN_PLACE };
}

const IN_PLACE = {
  outcome: 'hit-local',
  reason: 'found in place',
  published: false,
  shared: false,
  outputsWritten: 0,
} as const;

export type UpToDateHit = Pick<StepState, 'key' | 'exitCode' | 'commandMs' | 'status'> & typeof IN_PLACE;

/** Most logs are empty. */
export function logOf({ stdout, stderr, order }: WrittenStep): Log {
  if (stdout === '' && stderr === '') return SILENCE;
  return { stdout: Buffer.from(stdout, 'base64'), stderr: Buffer.from(stderr, 'base64'), order };
}

const SILENCE: Log = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0), order: [] };
