// A step's state around one run: what its command finds in the state folders, and what is saved of them.
//
// State makes a command faster and is in no key. A result made with state is not proven equal to that of a
// clean run, so it is not published (docs/decisions/0074). A command finds the state of the nearest earlier
// run, with that run's outputs. If there is none, it finds empty folders: anything else there, such as a
// killed run's files, is removed.
import { lstatSync } from 'node:fs';
import { usage } from '../../../core/cli/command.ts';
import { messageOf } from '../../../core/errors.ts';
import { type RelPath, toSystemPath } from '../../../core/path.ts';
import type { RunRequest } from '../../action/request.ts';
import { refuseLinkedParents } from '../../outputs/outputs.ts';
import { moveAside } from '../../outputs/restore.ts';
import { cleanUpKilledRuns } from '../../outputs/run-records.ts';
import { Staging } from '../../outputs/staging.ts';
import type { RunContext } from '../../run/context.ts';
import type { Execution } from '../../run/execute.ts';
import type { KeyedAction } from '../../run/key.ts';
import { type EarlierState, pathsOf, StateStore } from './state-store.ts';

export class StateAroundRun {
  readonly #request: RunRequest;
  readonly #context: RunContext;
  readonly #store: StateStore | undefined;

  private constructor(request: RunRequest, context: RunContext, snapshots: StateStore | undefined) {
    this.#request = request;
    this.#context = context;
    this.#store = snapshots;
  }

  static async open(action: KeyedAction, context: RunContext): Promise<StateAroundRun> {
    const { request } = action;
    if (request.sandbox)
      throw usage('--sandbox cannot be used with state: the sandbox shows only declared inputs');
    return new StateAroundRun(request, context, await StateStore.open(action, context));
  }

  /** Restores or clears the state. Returns whose state the command finds; undefined if none. */
  async prepare(): Promise<string | undefined> {
    const { workspace, state, hermetic } = this.#request;
    cleanUpKilledRuns(workspace);
    if (hermetic === 'strict' || this.#context.withoutState) return this.#clear(state);
    if (!this.#store) return state.some((path) => isThere(workspace, path)) ? LEFTOVER : undefined;
    const found = await this.#store.restoreNearest(workspace);
    if (!found) return this.#clear(state);
    const from = nameOf(found);
    this.#context.report({ type: 'state-carried', from });
    return this.#clear(pathsOf(this.#request).filter((path) => !found.paths.includes(path))) ?? from;
  }

  /** Saves the state of a command that succeeded. */
  async save({ exitCode, signal }: Execution): Promise<void> {
    if (exitCode === 0 && signal === undefined) await this.#store?.save();
  }

  /** Undefined if nothing remains. */
  #clear(paths: readonly RelPath[]): string | undefined {
    const { workspace } = this.#request;
    const present = paths.filter((path) => isThere(workspace, path));
    if (present.length === 0) return undefined;
    try {
      const staging = Staging.create(workspace);
      try {
        for (const path of present) {
          refuseLinkedParents(workspace, path);
          moveAside(workspace, path, staging);
        }
      } finally {
        staging.remove();
      }
      return undefined;
    } catch (error) {
      return `${LEFTOVER}, which could not be set aside (${messageOf(error)})`;
    }
  }
}

const LEFTOVER = 'the state that lay in the workspace';

function nameOf({ commit, from }: EarlierState): string {
  const whose = commit === undefined ? 'an earlier run' : `commit ${commit.slice(0, 12)}`;
  return `the state of ${whose}${from === 'remote' ? ', from the remote' : ''}`;
}

/** A path that cannot be checked counts as present. */
function isThere(workspace: string, path: RelPath): boolean {
  try {
    return lstatSync(toSystemPath(workspace, path), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}
