// One run of an action from a clean copy, under given conditions, and what it made.
import { mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { isWithin, type RelPath, toSystemPath } from '../../core/path.ts';
import { removeTree } from '../system/remove-tree.ts';
import { type ClockSettings, type Mount, mountOption, optionsFor } from './conditions.ts';
import { copyInto, makeCopy } from './copy.ts';
import { runVaried } from './helper.ts';
import { changesBetween, type Manifest, manifestOf } from './manifest.ts';
import type { Variation } from './variation.ts';

/** An action that can be run again, wherever its workspace is. */
export interface RepeatableAction {
  /** The person's own, which is never written to. */
  readonly workspace: string;
  /** Everything in it that the action needs: files, links, folders. */
  readonly paths: readonly RelPath[];
  /** Folders that it uses as they are, such as those of its tools: shown in the copy, not to be written. */
  readonly kept: readonly RelPath[];
  /** Folders that must be there, empty if need be: the one to run in, those that its outputs are made in. */
  readonly folders: readonly RelPath[];
  readonly workingDirectory: RelPath;
  /** For a copy that is at `workspace` in that run. */
  argvIn(workspace: string): readonly [string, ...string[]];
  environmentIn(folders: { readonly home: string; readonly tmp: string }): Readonly<Record<string, string>>;
  /** What it keeps for itself: no part of what it makes, and nothing of it is in a clean copy. */
  readonly state: {
    readonly paths: readonly RelPath[];
    /** What an earlier run made, which its state takes for granted. */
    readonly outputs: readonly RelPath[];
    /** The folder below which both lie as an earlier run left it, if one did. */
    readonly earlier?: string | undefined;
  };
  /** Variables of the caller that the action does not see, and might look at. */
  readonly undeclared: Readonly<Record<string, string>>;
}

/** Names that stand for something other than a variable of the caller. */
export const NOISE = 'ASSAY_VARIED_NOISE';

export interface TrialRequest {
  readonly varied: readonly Variation[];
  /** With `environment` varied: only these variables; all, if not given. */
  readonly variables?: readonly string[];
  /** Variables that are set to something else although they are declared or fixed. */
  readonly replaced?: Readonly<Record<string, string>>;
  readonly frozen?: boolean;
  /** The folder below which the state lies that the action finds; it finds none, if not given. */
  readonly stateFrom?: string;
}

export interface Outcome {
  readonly exitCode: number;
  readonly changes: Manifest;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly timedOut: boolean;
  readonly tookMs: number;
  /** Where what was made lies until the next run. */
  readonly folder: string;
}

export interface TrialSetup {
  readonly helper: string;
  /** A folder for all that the runs need. */
  readonly root: string;
  readonly namespaces: boolean;
  /** The copy can take the workspace's place. */
  readonly overlay: boolean;
  readonly holdMs: number;
  /** How long a run may take. */
  readonly limitMs: number;
  /** The same for one in which no clock runs. */
  readonly frozenLimitMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Hears of each run before it begins: its number, and what is varied in it. */
  onTrial?(number: number, varied: readonly Variation[]): void;
}

const AS_THEY_ARE = { otherTimes: false, otherModes: false } as const;

export class Trials {
  readonly #action: RepeatableAction;
  readonly #setup: TrialSetup;
  readonly #original: string;
  readonly #paths: readonly RelPath[];
  readonly #before: Manifest;
  readonly #heldMs: number;
  /** How many runs there were. */
  count = 0;

  constructor(action: RepeatableAction, setup: TrialSetup, now: () => number) {
    this.#action = action;
    this.#setup = setup;
    this.#heldMs = Math.floor(now() / 1000) * 1000;
    this.#original = join(setup.root, 'original');
    makeCopy(action.workspace, this.#original, action.paths, AS_THEY_ARE);
    const folders = [...action.folders, ...action.kept];
    for (const folder of folders) mkdirSync(toSystemPath(this.#original, folder), { recursive: true });
    this.#paths = [...action.paths, ...folders];
    this.#before = manifestOf(this.#original);
  }

  /** The variables whose values are other ones when `environment` is varied. */
  get variables(): string[] {
    return ['HOME', 'TMPDIR', ...Object.keys(this.#action.undeclared), NOISE];
  }

  async run({
    varied,
    variables = this.variables,
    replaced = {},
    frozen = false,
    stateFrom,
  }: TrialRequest): Promise<Outcome> {
    const set = new Set(varied);
    const { helper, root, namespaces: spaces, holdMs, signal } = this.#setup;
    const sinceMs = Date.now();
    const copy = this.#makeCopy(set);
    if (stateFrom !== undefined) copyInto(stateFrom, copy, this.#stateIn(stateFrom), AS_THEY_ARE);
    const workspace = this.#workspaceFor(copy, set);
    const clocks: ClockSettings = { heldMs: this.#heldMs, holdMs, sinceMs };
    const options = optionsFor({ varied: set, clocks, frozen, namespaces: spaces }, root);
    this.count++;
    this.#setup.onTrial?.(this.count, varied);
    const end = await runVaried(helper, {
      options: [...options, ...this.#mounts(copy).flatMap(mountOption)],
      folder: join(workspace, this.#action.workingDirectory),
      argv: this.#action.argvIn(workspace),
      env: { ...this.#environment(set, variables), ...replaced },
      limitMs: frozen ? this.#setup.frozenLimitMs : this.#setup.limitMs,
      signal,
    });
    return { ...end, changes: this.#madeIn(copy), folder: copy };
  }

  /** What became of the state is the action's own affair. */
  #madeIn(copy: string): Manifest {
    const made = changesBetween(this.#before, manifestOf(copy));
    for (const path of made.keys()) if (this.#isState(path)) made.delete(path);
    return made;
  }

  #stateIn(folder: string): RelPath[] {
    const { paths, outputs } = this.#action.state;
    return [...manifestOf(folder).keys()].filter((path) =>
      [...paths, ...outputs].some((place) => isWithin(path, place)),
    );
  }

  #isState(path: RelPath): boolean {
    return this.#action.state.paths.some((place) => isWithin(path, place));
  }

  /** What a run made is kept from the next one. */
  keep(outcome: Outcome, name: string): Outcome {
    const folder = join(this.#setup.root, name);
    removeTree(folder);
    renameSync(outcome.folder, folder);
    return { ...outcome, folder };
  }

  #makeCopy(varied: ReadonlySet<Variation>): string {
    const copy = varied.has('path')
      ? join(this.#setup.root, 'elsewhere/and/deeper/workspace')
      : join(this.#setup.root, 'workspace');
    makeCopy(this.#original, copy, this.#paths, {
      otherTimes: varied.has('mtimes'),
      otherModes: varied.has('umask'),
    });
    return copy;
  }

  /** What is kept first: once the copy has taken the workspace's place, the workspace can't be seen any more. */
  #mounts(copy: string): Mount[] {
    const { namespaces: spaces, overlay } = this.#setup;
    const { workspace, kept } = this.#action;
    if (!spaces) return [];
    const shown = kept.map(
      (path): Mount => ({
        from: join(workspace, path),
        at: join(copy, path),
        readOnly: true,
      }),
    );
    return [...shown, ...(overlay ? [{ from: copy, at: workspace }] : [])];
  }

  /** With namespaces the copy stands where the workspace is: what names it by its full path finds the copy. */
  #workspaceFor(copy: string, varied: ReadonlySet<Variation>): string {
    return this.#setup.overlay && !varied.has('path') ? this.#action.workspace : copy;
  }

  #environment(varied: ReadonlySet<Variation>, variables: readonly string[]): Record<string, string> {
    const other = new Set(varied.has('environment') ? variables : []);
    const home = this.#empty(other.has('HOME') ? 'other-home' : 'home');
    const tmp = this.#empty(other.has('TMPDIR') ? 'other-tmp' : 'tmp');
    const foreign = Object.entries(this.#action.undeclared).filter(([name]) => other.has(name));
    const noise = other.has(NOISE) ? { [NOISE]: 'noise' } : {};
    return { ...Object.fromEntries(foreign), ...noise, ...this.#action.environmentIn({ home, tmp }) };
  }

  #empty(name: string): string {
    const folder = join(this.#setup.root, name);
    removeTree(folder);
    mkdirSync(folder, { recursive: true });
    return folder;
  }
}
