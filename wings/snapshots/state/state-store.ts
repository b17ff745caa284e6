// Saves and finds the state of one step's runs, with their outputs, under labels STEP/COMMIT/KEY. The nearest
// state is that of the latest ancestor commit that has one; without any, the newest of all.
import { lstatSync } from 'node:fs';
import { platformProperties } from '../../../client/action/platform.ts';
import type { RunRequest } from '../../../client/action/request.ts';
import { stepOf } from '../../../client/history/history.ts';
import type { KeyedAction } from '../../../client/inputs/keyed-action.ts';
import { fitOutput } from '../../../client/outputs/encoded-outputs.ts';
import { OLD_TIME, renewTimes } from '../../../client/outputs/times.ts';
import type { RunContext } from '../../../client/run/context.ts';
import { fenceText } from '../../../core/action-lease.ts';
import { digestOf, type Hash } from '../../../core/digest.ts';
import { messageOf } from '../../../core/errors.ts';
import { parseNamespace } from '../../../core/namespace.ts';
import { type RelPath, toSystemPath } from '../../../core/path.ts';
import { openSnapshotStore } from '../open.ts';
import { takeSnapshot } from '../snapshot.ts';
import type { Restored, SnapshotStore } from '../snapshot-store.ts';
import { type Ancestry, ancestryOf } from './ancestry.ts';

const NAMESPACE = parseNamespace('state');
/** Stands for the commit outside of a repository. */
const NO_COMMIT = 'none';

export interface EarlierState extends Restored {
  /** Undefined for a run outside of any repository. */
  readonly commit: string | undefined;
}

type Context = Pick<RunContext, 'cache' | 'report' | 'now' | 'lease'>;

export class StateStore {
  readonly #request: RunRequest;
  readonly #key: Hash;
  readonly #context: Context;
  readonly #store: SnapshotStore;
  readonly #step: string;
  readonly #commits: readonly string[];

  private constructor(
    { request, key }: KeyedAction,
    context: Context,
    snapshots: SnapshotStore,
    { folder, commits }: Ancestry,
  ) {
    this.#request = request;
    this.#key = key.hash;
    this.#context = context;
    this.#store = snapshots;
    this.#step = stepIn(folder, request);
    this.#commits = commits;
  }

  /** Undefined if there is no usable store. */
  static async open(action: KeyedAction, context: Context): Promise<StateStore | undefined> {
    const { workspace } = action.request;
    const known = pathsOf(action.request);
    const fits = (paths: readonly RelPath[]) => paths.every((path) => known.includes(path));
    const settings = { namespace: NAMESPACE, fits, time: OLD_TIME };
    const snapshots = await openSnapshotStore(settings, context.cache);
    return snapshots && new StateStore(action, context, snapshots, await ancestryOf(workspace));
  }

  /** Restores the nearest available state below `root`. */
  async restoreNearest(root: string): Promise<EarlierState | undefined> {
    const commits = this.#commits.map((commit) => `${this.#step}/${commit}/`);
    const prefixes = [this.#label, ...commits, `${this.#step}/`];
    try {
      const found = await this.#store.restore(root, undefined, prefixes);
      return found && { ...found, commit: commitIn(found.label) };
    } catch (error) {
      this.#context.report({ type: 'store-unusable', why: messageOf(error) });
      return undefined;
    }
  }

  /** Saves the state of the workspace. A failure is reported and harms nothing. */
  async save(): Promise<void> {
    const { workspace, state } = this.#request;
    const isThere = (path: RelPath) => lstatSync(toSystemPath(workspace, path), QUIET) !== undefined;
    const fence = this.#context.lease?.fence();
    const isFenced = fence !== undefined && fence !== 'lost';
    const label = isFenced ? `${this.#label}/${fenceText(fence)}` : this.#label;
    try {
      this.#renewOutputs();
      if (!state.some(isThere)) return;
      const present = pathsOf(this.#request).filter(isThere);
      const snapshot = takeSnapshot(workspace, present, this.#context.cache.digests, this.#context.now());
      const isSaved = (await this.#store.save(label, snapshot)) === 'saved';
      if (!isSaved || fence === 'lost') return;
      await this.#store.share(label, snapshot, isFenced ? { action: this.#key, fence } : undefined);
    } catch (error) {
      this.#context.report({ type: 'state-not-kept', why: messageOf(error) });
    }
  }

  get #label(): string {
    return `${this.#step}/${this.#commits[0] ?? NO_COMMIT}/${this.#key}`;
  }

  /**
   * Outputs that the command left unchanged belong to this run, too: give them a new mtime, so that tools
   * which compare mtimes rebuild what depends on them.
   */
  #renewOutputs(): void {
    const { workspace, outputs } = this.#request;
    const { cache, now } = this.#context;
    for (const path of outputs) {
      const output = fitOutput(workspace, path, cache.digests);
      if (output) renewTimes(output, workspace, path, OLD_TIME, new Date(now()));
    }
  }
}

/** State includes the outputs: a tool does not rebuild what it considers up to date. */
export function pathsOf({ state, outputs }: RunRequest): RelPath[] {
  return [...state, ...outputs];
}

const QUIET = { throwIfNoEntry: false } as const;

/**
 * A step: the same command, outputs and state, in the same folder of the repository, on the same platform.
 */
function stepIn(folder: string, request: RunRequest): string {
  const parts = [stepOf(request), [...request.state].sort(), folder, platformProperties()];
  return digestOf(Buffer.from(JSON.stringify(parts))).hash.slice(0, 32);
}

function commitIn(label: string): string | undefined {
  const [, commit] = label.split('/');
  return commit === NO_COMMIT ? undefined : commit;
}
