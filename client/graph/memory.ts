// What a run of a graph recalls at its beginning and remembers at its end (memo.ts holds it).
import { lstatSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { digestOf } from '../../core/digest.ts';
import type { Cache } from '../cache.ts';
import { outputsBefore, programFolders, type StepRequest } from '../config/request.ts';
import type { Step } from '../config/step.ts';
import { looksSecret, type Variables } from '../environment.ts';
import { allSettled } from '../inputs/settled.ts';
import { type Row, rowOf } from '../inputs/stat-table.ts';
import type { KeyedAction } from '../key.ts';
import type { Log } from '../log.ts';
import { toolLooks } from '../tool-look.ts';
import type { StepEnd } from './events.ts';
import type { StepTable } from './graph.ts';
import { type GraphMemo, logOf, type StepMemo, writeGraphMemo } from './memo.ts';
import { variablesDigest } from './variables-digest.ts';

export interface MemoryOptions {
  readonly folder: string;
  readonly root: string;
  readonly steps: StepTable;
  readonly caller: Variables;
  /** What was remembered the last time, if that can be used. */
  readonly memo: GraphMemo | undefined;
  /** What the configuration was read from just now, and when; undefined if it was recalled, and is as it was. */
  readonly config?: { readonly looks: ReadonlyMap<string, Row>; readonly readAt: number } | undefined;
}

export interface Recalled {
  readonly end: StepEnd;
  readonly log: Log;
}

export class GraphMemory {
  readonly #options: MemoryOptions;
  readonly #learnt = new Map<string, StepMemo>();
  readonly #ran = new Set<string>();

  constructor(options: MemoryOptions) {
    this.#options = options;
  }

  recall(step: Step): Recalled | undefined {
    const { memo, config, steps } = this.#options;
    const hit = memo?.recall(step, config && (() => definitionOf(step, steps)));
    if (!hit) return undefined;
    const end: StepEnd = {
      ...IN_PLACE,
      step: step.id,
      key: hit.key,
      commandMs: hit.commandMs,
      standing: hit.standing,
    };
    return { end, log: logOf(hit) };
  }

  /** Something was written: what other steps look at may look otherwise now. */
  changed({ id }: Step): void {
    this.#ran.add(id);
    this.#options.memo?.lookAnew();
  }

  /** Takes in a step that was found in place. `beganAt`: the clock before anything of it was looked at. */
  learn(step: Step, asked: StepRequest, action: KeyedAction, cache: Cache, beganAt: number): void {
    const { steps, root, caller } = this.#options;
    const names = asked.request.variables.map(({ name }) => name);
    if (action.inputs.strayLinks.length > 0 || names.includes('PATH') || names.some(looksSecret)) return;
    const outputs = cache.hits.looks(action);
    if (!outputs) return;
    const rows = new Map([...action.inputs.looks(), ...outputs.rows]);
    for (const folder of programFolders(step)) lookAtFolder(folder, root, rows);
    if (!allSettled([...rows.values(), ...action.tools.flatMap(({ looks }) => looks)], beganAt)) return;
    this.#learnt.set(step.id, {
      key: action.key.hash,
      commandMs: outputs.hit.commandMs,
      standing: outputs.hit.standing,
      log: outputs.hit.log,
      definition: definitionOf(step, steps),
      variables: variablesDigest(step.env, caller),
      tools: toolLooks([...step.tools, ...step.programs], action, asked.caller.PATH ?? ''),
      rows,
    });
  }

  /** What nobody looked at this time stays as it was remembered: it is looked at before it is believed. */
  save(): void {
    const { memo, config, steps, folder, root, caller } = this.#options;
    if (this.#learnt.size === 0 && !config) return;
    if (config && !allSettled(config.looks.values(), config.readAt)) return;
    const looks = config?.looks ?? memo?.configLooks();
    if (!looks) return;
    const memos = new Map<string, StepMemo>();
    for (const id of steps.keys()) {
      const known = this.#learnt.get(id) ?? (this.#ran.has(id) ? undefined : memo?.carried(id));
      if (known) memos.set(id, known);
    }
    writeGraphMemo(folder, root, caller, { steps, config: looks, memos });
  }
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

/** Where it is not there, the folders above that are not there either are named too, so that one look stands for all. */
function lookAtFolder(folder: string, root: string, rows: Map<string, Row>): void {
  for (let at = folder; at !== '.' && !rows.has(at); at = dirname(at)) {
    const stats = lstatSync(join(root, at), { bigint: true, throwIfNoEntry: false });
    if (stats && at !== folder) return;
    rows.set(at, rowOf(stats));
    if (stats) return;
  }
}

function definitionOf(step: Step, steps: StepTable): string {
  return digestOf(Buffer.from(JSON.stringify([step, outputsBefore(step, steps)]))).hash;
}
