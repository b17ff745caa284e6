// One run of an action from a clean copy under given conditions, and what it changed.
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { isWithin, type RelPath, toSystemPath } from '../../../core/path.ts';
import { makeFolder } from '../../../system/files/make-folder.ts';
import { removeTree } from '../../../system/files/remove-tree.ts';
import { type ClockSettings, mountOption, optionsFor, type VariedMount } from './conditions.ts';
import { copyInto, makeCopy } from './copy.ts';
import { runVaried } from './helper.ts';
import { changesBetween, manifestOf, type OutputManifest } from './manifest.ts';
import type { Variation } from './variation.ts';

/** An action that can run again, with its workspace at any path. */
export interface RepeatableAction {
  /** The user's own workspace, which is never written to. */
  readonly workspace: string;
  /** Everything that the action needs: files, links, folders. */
  readonly paths: readonly RelPath[];
  /** Folders that are mounted read-only instead of copied, such as those of its tools. */
  readonly kept: readonly RelPath[];
  /** Folders that must exist, empty if need be: the working directory, and folders of outputs that it does not make. */
  readonly folders: readonly RelPath[];
  readonly workingDirectory: RelPath;
  /** The argv for a copy at `workspace`. */
  argvIn(workspace: string): readonly [string, ...string[]];
  environmentIn(folders: CopyFolders): Readonly<Record<string, string>>;
  /** The action's state: not part of its result, and absent from a clean copy. */
  readonly state: {
    readonly paths: readonly RelPath[];
    /** The outputs of an earlier run, which the state relies on. */
    readonly outputs: readonly RelPath[];
    /** The folder that contains both as an earlier run left them, if there is one. */
    readonly earlier?: string | undefined;
  };
  /** Undeclared variables of the caller that the action might read. */
  readonly undeclared: Readonly<Record<string, string>>;
}

/** Where a run finds its workspace and its empty folders. */
interface CopyFolders {
  readonly workspace: string;
  readonly home: string;
  readonly tmp: string;
}

/** A variable that the caller does not have. */
export const NOISE = 'ASSAY_VARIED_NOISE';

export interface TrialRequest {
  readonly varied: readonly Variation[];
  /** With `environment` varied: only these variables; all by default. */
  readonly variables?: readonly string[];
  /** Variables that get another value although they are declared or fixed. */
  readonly replaced?: Readonly<Record<string, string>>;
  readonly frozen?: boolean;
  /** The folder with the state that the action gets; none by default. */
  readonly stateFrom?: string;
}

export interface TrialOutcome {
  readonly exitCode: number;
  readonly changes: OutputManifest;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly timedOut: boolean;
  readonly tookMs: number;
  /** The folder of the copy, until the next run. */
  readonly folder: string;
}

export interface TrialSetup {
  readonly helper: string;
  /** The folder for everything that the runs need. */
  readonly root: string;
  readonly namespaces: boolean;
  /** The copy can be mounted over the workspace. */
  readonly overlay: boolean;
  readonly holdMs: number;
  /** The time limit of a run. */
  readonly limitMs: number;
  /** The same for a run with frozen clocks. */
  readonly frozenLimitMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Called before each run with its number and variations. */
  onTrial?(number: number, varied: readonly Variation[]): void;
}

const AS_THEY_ARE = { otherTimes: false, otherModes: false } as const;

export class Trials {
  readonly #action: RepeatableAction;
  readonly #setup: TrialSetup;
  readonly #original: string;
  readonly #paths: readonly RelPath[];
  readonly #before: OutputManifest;
  readonly #heldMs: number;
  /** The number of runs so far. */
  count = 0;

  constructor(action: RepeatableAction, setup: TrialSetup, now: () => number) {
    this.#action = action;
    this.#setup = setup;
    this.#heldMs = Math.floor(now() / 1000) * 1000;
    this.#original = join(setup.root, 'original');
    makeCopy(action.workspace, this.#original, action.paths, AS_THEY_ARE);
    const folders = [...action.folders, ...action.kept];
    for (const folder of folders) makeFolder(toSystemPath(this.#original, folder));
    this.#paths = [...action.paths, ...folders];
    this.#before = manifestOf(this.#original);
  }

  /** The variables that change if `environment` is varied. */
  get variables(): string[] {
    return ['HOME', 'TMPDIR', ...Object.keys(this.#action.undeclared), NOISE];
  }

  async run({
    varied,
    variables = this.variables,
    replaced = {},
    frozen = false,
    stateFrom,
  }: TrialRequest): Promise<TrialOutcome> {
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
      env: { ...this.#environment(workspace, set, variables), ...replaced },
      limitMs: frozen ? this.#setup.frozenLimitMs : this.#setup.limitMs,
      signal,
    });
    return { ...end, changes: this.#madeIn(copy), folder: copy };
  }

  /** The state is not part of the result. */
  #madeIn(copy: string): OutputManifest {
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

  /** Moves a run's copy out of the way of the next run. */
  keep(outcome: TrialOutcome, name: string): TrialOutcome {
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

  /** Mounts of kept folders come first: once the copy covers the workspace, the workspace is hidden. */
  #mounts(copy: string): VariedMount[] {
    const { namespaces: spaces, overlay } = this.#setup;
    const { workspace, kept } = this.#action;
    if (!spaces) return [];
    const shown = kept.map(
      (path): VariedMount => ({
        from: join(workspace, path),
        at: join(copy, path),
        readOnly: true,
      }),
    );
    return [...shown, ...(overlay ? [{ from: copy, at: workspace }] : [])];
  }

  /** With namespaces the copy is mounted at the workspace's path, so absolute paths lead to the copy. */
  #workspaceFor(copy: string, varied: ReadonlySet<Variation>): string {
    return this.#setup.overlay && !varied.has('path') ? this.#action.workspace : copy;
  }

  #environment(
    workspace: string,
    varied: ReadonlySet<Variation>,
    variables: readonly string[],
  ): Record<string, string> {
    const other = new Set(varied.has('environment') ? variables : []);
    const home = this.#empty(other.has('HOME') ? 'other-home' : 'home');
    const tmp = this.#empty(other.has('TMPDIR') ? 'other-tmp' : 'tmp');
    const foreign = Object.entries(this.#action.undeclared).filter(([name]) => other.has(name));
    const noise = other.has(NOISE) ? { [NOISE]: 'noise' } : {};
    return {
      ...Object.fromEntries(foreign),
      ...noise,
      ...this.#action.environmentIn({ workspace, home, tmp }),
    };
  }

  #empty(name: string): string {
    const folder = join(this.#setup.root, name);
    removeTree(folder);
    makeFolder(folder);
    return folder;
  }
}
