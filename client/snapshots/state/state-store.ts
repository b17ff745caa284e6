// What the runs of one step left for the next ones, its state and the outputs that go with it: labels STEP/COMMIT/KEY. The nearest is that of the last
// commit on the way here that has one, and only where none has, the newest of all.
import { lstatSync } from 'node:fs';
import { digestOf } from '../../../core/digest.ts';
import { messageOf } from '../../../core/errors.ts';
import { parseNamespace } from '../../../core/namespace.ts';
import { type RelPath, toSystemPath } from '../../../core/path.ts';
import { platformProperties } from '../../action/platform.ts';
import type { RunRequest } from '../../action/request.ts';
import { stepOf } from '../../history/history.ts';
import { fitOutput } from '../../outputs/encoded-outputs.ts';
import { OLD_TIME, renewTimes } from '../../outputs/times.ts';
import type { RunContext } from '../../run/context.ts';
import type { KeyedAction } from '../../run/key.ts';
import { takeSnapshot } from '../snapshot.ts';
import type { Restored, SnapshotStore } from '../snapshot-store.ts';
import { type Ancestry, ancestryOf } from './ancestry.ts';

const NAMESPACE = parseNamespace('state');
/** In place of a commit. */
const NO_COMMIT = 'none';

export interface EarlierState extends Restored {
  /** Undefined where it was left outside of any repository. */
  readonly commit: string | undefined;
}

type Context = Pick<RunContext, 'cache' | 'report' | 'now'>;

export class StateStore {
  readonly #request: RunRequest;
  readonly #key: string;
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

  /** Undefined where there is no usable store. */
  static async open(action: KeyedAction, context: Context): Promise<StateStore | undefined> {
    const { workspace } = action.request;
    const known = pathsOf(action.request);
    const snapshots = await context.cache.openSnapshotStore({
      namespace: NAMESPACE,
      fits: (paths) => paths.every((path) => known.includes(path)),
      time: OLD_TIME,
    });
    return snapshots && new StateStore(action, context, snapshots, await ancestryOf(workspace));
  }

  /** Puts the nearest one that can be had below `root`. */
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

  /** Keeps what lies in the workspace now; that it can't be kept is said, and harms nobody. */
  async save(): Promise<void> {
    const { workspace, state } = this.#request;
    const isThere = (path: RelPath) => lstatSync(toSystemPath(workspace, path), QUIET) !== undefined;
    const label = this.#label;
    try {
      this.#renewOutputs();
      if (!state.some(isThere)) return;
      const present = pathsOf(this.#request).filter(isThere);
      const snapshot = takeSnapshot(workspace, present, this.#context.cache.digests, this.#context.now());
      if ((await this.#store.save(label, snapshot)) === 'saved') await this.#store.share(label, snapshot);
    } catch (error) {
      this.#context.report({ type: 'state-not-kept', why: messageOf(error) });
    }
  }

  get #label(): string {
    return `${this.#step}/${this.#commits[0] ?? NO_COMMIT}/${this.#key}`;
  }

  /** What the command left as it found it is this run's, too: who goes by times and reads it sees that it may have changed. */
  #renewOutputs(): void {
    const { workspace, outputs } = this.#request;
    const { cache, now } = this.#context;
    for (const path of outputs) {
      const output = fitOutput(workspace, path, cache.digests);
      if (output) renewTimes(output, workspace, path, OLD_TIME, new Date(now()));
    }
  }
}

/** The outputs belong to it: what a tool takes for up to date it does not make again. */
export function pathsOf({ state, outputs }: RunRequest): RelPath[] {
  return [...state, ...outputs];
}

const QUIET = { throwIfNoEntry: false } as const;

/** The same command with the same outputs and state, in the same folder of the repository, for the same kind of machine. */
function stepIn(folder: string, request: RunRequest): string {
  const parts = [stepOf(request), [...request.state].sort(), folder, platformProperties()];
  return digestOf(Buffer.from(JSON.stringify(parts))).hash.slice(0, 32);
}

function commitIn(label: string): string | undefined {
  const [, commit] = label.split('/');
  return commit === NO_COMMIT ? undefined : commit;
}
