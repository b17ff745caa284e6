// The state of a graph during one run: answers whether a step is up to date, and records the state for the
// next run.
// It writes only what invariants G2, G4 and G5 of graph-state.ts allow.
import { digestOf, type Hash } from '../../core/digest.ts';
import type { Variables } from '../action/environment.ts';
import { programFolderCauses } from '../action/program-folders.ts';
import { outputsBefore } from '../config/request.ts';
import type { Step, StepTable } from '../config/step.ts';
import { variablesOf } from '../config/variables.ts';
import { allSettled } from '../files/settled.ts';
import { isAbsent, type StatRow, sameRow } from '../files/stat-table.ts';
import type { KeyedAction } from '../inputs/keyed-action.ts';
import type { Log } from '../process/log.ts';
import type { Cache } from '../run/caches.ts';
import type { InPlaceCheck } from '../run/in-place.ts';
import type { HitReceipt } from '../run/receipt.ts';
import type { StepEnd } from '../view/events.ts';
import {
  ChangingFolders,
  isSurelyAbsent,
  type PathStats,
  type ReadConfig,
  withNewTimes,
} from './absent-paths.ts';
import { type GraphState, hitOf, logOf } from './graph-state.ts';
import { writeStateFile } from './state-file.ts';
import { type StepState, stepStateOf } from './step-state.ts';
import { variablesDigest } from './variables-digest.ts';

export interface StateRecorderOptions {
  readonly storeFolder: string;
  readonly root: string;
  readonly steps: StepTable;
  readonly caller: Variables;
  /** The recorded state, if there is one. */
  readonly state: GraphState | undefined;
  /** The files that the configuration was read from, and when; undefined if the recorded one is unchanged. */
  readonly config?: ReadConfig | undefined;
  /** Somebody asked for the receipts of hits. */
  readonly wantsReceipts?: boolean;
}

/** The recorded result of a step: everything that it depends on is unchanged. */
export interface RecordedResult {
  readonly key: Hash;
  /** The key under which the result is stored, and the digest of the result. */
  readonly address: Hash;
  readonly result: Hash;
  /** If somebody asked for it. */
  readonly receipt?: HitReceipt | undefined;
  /** An output is absent. */
  readonly lacksOutputs?: boolean;
  /** Set if the outputs are in place too: the step is up to date. */
  readonly inPlace?: { readonly end: StepEnd; readonly log: Log };
}

export class StateRecorder {
  readonly #options: StateRecorderOptions;
  readonly #recorded = new Map<string, StepState>();
  readonly #executed = new Set<string>();
  /** New settled stats of outputs whose content was compared with the result. */
  readonly #confirmed = new Map<string, StatRow>();
  /** The digests of the variables, by their declarations. */
  readonly #variables = new Map<string, string>();
  #changing: ChangingFolders | undefined;
  /** The configuration as it was read at the end of the run. */
  #newConfig: ReadConfig | undefined;
  /** The steps that other steps depend on. */
  #dependencies: ReadonlySet<string> | undefined;

  constructor(options: StateRecorderOptions) {
    this.#options = options;
  }

  lookup(step: Step): RecordedResult | undefined {
    const { state, config, steps, wantsReceipts } = this.#options;
    const hit = state?.lookup({
      id: step.id,
      variables: () => this.#variablesOf(step),
      definition: config && (() => definitionOf(step, steps)),
    });
    if (!hit) return undefined;
    const { key, address, result } = hit;
    const receipt: HitReceipt | undefined =
      wantsReceipts && hit.receipt !== '' ? JSON.parse(hit.receipt) : undefined;
    const known = { key, address, result, receipt };
    if (state?.isInPlace(hit)) {
      const end = { step: step.id, ...hitOf(hit), elapsedMs: 0, ...(receipt && { receipt }) };
      return { ...known, inPlace: { end, log: logOf(hit) } };
    }
    return { ...known, lacksOutputs: state?.lacksOutputs(hit) ?? false };
  }

  /** The step's command ran, or its outputs were written: any recorded path may have changed. */
  stepRan({ id }: Step): void {
    this.#executed.add(id);
    this.#options.state?.forgetStats();
  }

  /**
   * The outputs of a recorded result were restored. Their stats count in this run only, because they are not
   * settled. At its end `confirmed` may tell settled ones.
   * They are needed only if other steps depend on this one.
   */
  restored({ id }: Step, stats: () => ReadonlyMap<string, StatRow>): void {
    this.#dependencies ??= new Set([...this.#options.steps.values()].flatMap(({ dependsOn }) => dependsOn));
    if (this.#dependencies.has(id)) this.#options.state?.setOutputStats(id, stats());
  }

  /** The outputs have other stats than recorded, but their content is correct. */
  confirmed({ id }: Step, { outputs }: Pick<InPlaceCheck, 'outputs'>): void {
    this.#options.state?.setOutputStats(id, outputs);
    for (const [name, row] of outputs) this.#confirmed.set(name, row);
  }

  /** Records a step that was found in place. `beganAt`: the clock before its first lstat. */
  record(step: Step, action: KeyedAction, cache: Cache, beganAt: number): void {
    const { steps, caller } = this.#options;
    const tools = [...step.tools, ...step.programs];
    this.#changing ??= new ChangingFolders([...steps.values()].flatMap(({ outputs }) => outputs));
    const place = { tools, caller, causes: programFolderCauses(step.folder), changing: this.#changing };
    const state = stepStateOf(action, cache, place, beganAt);
    if (!state) return;
    const definition = definitionOf(step, steps);
    this.#recorded.set(step.id, { ...state, definition, variables: this.#variablesOf(step) });
  }

  /**
   * Whether a step was recorded with other stats of a folder than the configuration has, which lists it: a command made
   * something there. Without the stats of now the step would be left out (G5).
   */
  lacksConfig(): boolean {
    const config = this.#configStats();
    if (!config) return false;
    const { rows } = this.#withNewTimes(config);
    const isOther = ([name, row]: [string, StatRow]) => rows.has(name) && !sameRow(rows.get(name), row);
    return this.#recorded.values().some(({ inputs }) => inputs.rows.entries().some(isOther));
  }

  /** What it has is the same as before, only its stats are newer. Stats that are not settled don't count (G2). */
  configRead(config: ReadConfig | undefined): void {
    if (config && allSettled(config.stats.rows.values(), config.readAt)) this.#newConfig = config;
  }

  #configStats(): PathStats | undefined {
    const { state, config } = this.#options;
    return (this.#newConfig ?? config)?.stats ?? state?.configStats();
  }

  /** Writes the state file. Steps that this run did not check are carried over; the next run checks them. */
  save(): void {
    const { state, config, steps, storeFolder, root, caller } = this.#options;
    if (this.#recorded.size === 0 && this.#confirmed.size === 0 && !config) return;
    if (config && !this.#newConfig && !allSettled(config.stats.rows.values(), config.readAt)) return;
    const configStats = this.#configStats();
    if (!configStats) return;
    const states = new Map(this.#recorded);
    for (const [id, step] of steps) {
      const isReplaced = states.has(id) || this.#executed.has(id);
      const carried = isReplaced ? undefined : state?.stepState(id, this.#confirmed);
      if (carried && this.#isStillDeclared(step, carried)) states.set(id, carried);
    }
    writeStateFile(storeFolder, { root }, caller, { steps, config: this.#withNewTimes(configStats), states });
  }

  #variablesOf({ env }: Step): string {
    const { caller } = this.#options;
    const name = env.join('\0');
    const known = this.#variables.get(name) ?? variablesDigest(() => variablesOf(env, caller), caller);
    this.#variables.set(name, known);
    return known;
  }

  /** The commands of this run changed the times of folders that the configuration was searched in. */
  #withNewTimes(config: PathStats): PathStats {
    const newer = new Map<string, StatRow>();
    for (const { inputs } of this.#recorded.values())
      for (const [name, row] of inputs.rows) {
        const known = config.rows.get(name);
        if (known && !isAbsent(row) && !sameRow(known, row)) newer.set(name, row);
      }
    if (newer.size === 0) return config;
    return withNewTimes(config, newer, (name) => isSurelyAbsent(this.#options.root, name));
  }

  /** A state is valid for one configuration: if that was read again, the definition must be the same (G4). */
  #isStillDeclared(step: Step, { definition }: StepState): boolean {
    const { config, steps } = this.#options;
    return !config || definition === definitionOf(step, steps);
  }
}

function definitionOf(step: Step, steps: StepTable): string {
  return digestOf(Buffer.from(JSON.stringify([step, outputsBefore(step, steps)]))).hash;
}
