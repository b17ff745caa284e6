// What a run of a graph recalls at its beginning and remembers at its end (graph-state.ts holds it).
import { lstatSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { digestOf, type Hash } from '../../core/digest.ts';
import { looksSecret, type Variables } from '../action/environment.ts';
import { outputsBefore, programFolders, type StepRequest } from '../config/request.ts';
import type { Step } from '../config/step.ts';
import { allSettled } from '../files/settled.ts';
import { rowOf, type StatRow } from '../files/stat-table.ts';
import type { StepTable } from '../graph/graph.ts';
import type { ReadConfig } from '../graph/opened-workspace.ts';
import type { StepEnd } from '../graph/view/events.ts';
import type { InPlace } from '../outputs/in-place.ts';
import type { Cache } from '../run/caches.ts';
import type { KeyedAction } from '../run/key.ts';
import type { Log } from '../run/log.ts';
import { toolStamps } from '../tools/tool-stamp.ts';
import { type GraphState, logOf } from './graph-state.ts';
import { type StepState, type WrittenStep, writeStateFile } from './state-file.ts';
import { variablesDigest } from './variables-digest.ts';

export interface StateRecorderOptions {
  readonly folder: string;
  readonly root: string;
  readonly steps: StepTable;
  readonly caller: Variables;
  /** What was remembered the last time, if that can be used. */
  readonly state: GraphState | undefined;
  /**
   * What the configuration was read from just now, and when; undefined if it was recalled, and is as it was.
   */
  readonly config?: ReadConfig | undefined;
}

/** A result that everything leads to that decides upon it. */
export interface RecordedResult {
  readonly key: Hash;
  /** The key that it lies under, and the digest that it had. */
  readonly address: Hash;
  readonly result: Hash;
  /** One of its outputs is not there. */
  readonly lacksOutputs?: boolean;
  /** Its outputs are in place. */
  readonly inPlace?: { readonly end: StepEnd; readonly log: Log };
}

export class StateRecorder {
  readonly #options: StateRecorderOptions;
  readonly #learnt = new Map<string, StepState>();
  readonly #ran = new Set<string>();
  /** Outputs that are what they were, look otherwise than they did, and have settled. */
  readonly #renewed = new Map<string, StatRow>();
  /** The steps that others depend on. */
  #depended: ReadonlySet<string> | undefined;

  constructor(options: StateRecorderOptions) {
    this.#options = options;
  }

  lookup(step: Step): RecordedResult | undefined {
    const { state, config, steps } = this.#options;
    const hit = state?.lookup(step, config && (() => definitionOf(step, steps)));
    if (!hit) return undefined;
    const { key, address, result } = hit;
    if (state?.isInPlace(hit))
      return { key, address, result, inPlace: { end: endOf(step, hit), log: logOf(hit) } };
    return { key, address, result, lacksOutputs: state?.lacksOutputs(hit) ?? false };
  }

  /** Something was written: what other steps look at may look otherwise now. */
  stepRan({ id }: Step): void {
    this.#ran.add(id);
    this.#options.state?.forgetStats();
  }

  /**
   * The outputs of a step whose result was known were written just now, and look like this, which is asked
   * only where other steps depend on it. That holds for this run: they are too fresh to be remembered.
   */
  restored({ id }: Step, looks: () => ReadonlyMap<string, StatRow>): void {
    this.#depended ??= new Set([...this.#options.steps.values()].flatMap(({ dependsOn }) => dependsOn));
    if (this.#depended.has(id)) this.#options.state?.setOutputStats(id, looks());
  }

  /** The outputs of a step whose result was known are right, though they look otherwise. */
  confirmed({ id }: Step, { outputs }: Pick<InPlace, 'outputs'>): void {
    this.#options.state?.setOutputStats(id, outputs);
    for (const [name, row] of outputs) this.#renewed.set(name, row);
  }

  /** Takes in a step that was found in place. `beganAt`: the clock before anything of it was looked at. */
  record(step: Step, asked: StepRequest, action: KeyedAction, cache: Cache, beganAt: number): void {
    const { steps, root, caller } = this.#options;
    const names = asked.request.variables.map(({ name }) => name);
    if (action.inputs.strayLinks.length > 0 || names.includes('PATH') || names.some(looksSecret)) return;
    const found = cache.inPlace.looks(action);
    if (!found) return;
    const { outputs, address, result, hit } = found;
    const rows = new Map([...action.inputs.statRows(), ...found.rows]);
    const traversed = new Set([...action.inputs.existenceOnly()].filter((name) => !found.rows.has(name)));
    for (const folder of programFolders(step)) lookAtFolder(folder, root, rows);
    const tools = action.tools.flatMap(({ rows: looks }) => looks);
    if (!allSettled([...rows.values(), ...outputs.values(), ...tools], beganAt)) return;
    this.#learnt.set(step.id, {
      key: action.key.hash,
      address,
      result,
      commandMs: hit.commandMs,
      standing: hit.standing,
      log: hit.log,
      definition: definitionOf(step, steps),
      variables: variablesDigest(step.env, caller),
      tools: toolStamps([...step.tools, ...step.programs], action, asked.caller.PATH ?? ''),
      inputs: { rows, traversed },
      outputs,
    });
  }

  /** What nobody looked at this time stays as it was remembered: it is looked at before it is believed. */
  save(): void {
    const { state, config, steps, folder, root, caller } = this.#options;
    if (this.#learnt.size === 0 && this.#renewed.size === 0 && !config) return;
    if (config && !allSettled(config.stats.rows.values(), config.readAt)) return;
    const looks = config?.stats ?? state?.configStats();
    if (!looks) return;
    const states = new Map(this.#learnt);
    for (const [id, step] of steps) {
      const isOutdated = states.has(id) || this.#ran.has(id);
      const known = isOutdated ? undefined : state?.stepState(id, this.#renewed);
      if (known && this.#isStillDeclared(step, known)) states.set(id, known);
    }
    writeStateFile(folder, root, caller, { steps, config: looks, states });
  }

  /**
   * What is written beside a configuration is believed as long as that looks the same: it must be about its
   * steps.
   */
  #isStillDeclared(step: Step, { definition }: StepState): boolean {
    const { config, steps } = this.#options;
    return !config || definition === definitionOf(step, steps);
  }
}

function endOf({ id: step }: Step, { key, commandMs, standing }: WrittenStep): StepEnd {
  return { ...IN_PLACE, step, key, commandMs, standing };
}

const IN_PLACE = {
  outcome: 'hit-local',
  exitCode: 0,
  reason: 'found in place',
  published: false,
  shared: false,
  outputsWritten: 0,
  elapsedMs: 0,
} as const;

/**
 * Where it is not there, the folders above that are not there either are named too, so that one look stands
 * for all.
 */
function lookAtFolder(folder: string, root: string, rows: Map<string, StatRow>): void {
  for (let at = folder; at !== '.' && !rows.has(at); at = dirname(at)) {
    const stats = lstatSync(join(root, at), { throwIfNoEntry: false });
    if (stats && at !== folder) return;
    rows.set(at, rowOf(stats));
    if (stats) return;
  }
}

function definitionOf(step: Step, steps: StepTable): string {
  return digestOf(Buffer.from(JSON.stringify([step, outputsBefore(step, steps)]))).hash;
}
