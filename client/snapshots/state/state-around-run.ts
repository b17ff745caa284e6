// The state of a step around one run: what its command finds in its state folders, and what is kept of them afterwards.
//
// State is there to be fast, and is in no key: what was made with it is not known to be what a clean run makes, and is
// not kept as a result (docs/decisions/0074). A command finds the state of the nearest earlier run, with the outputs of
// that run, or, where there is none, nothing: what else lies there goes, such as what a killed run has left half done.
import { lstatSync } from 'node:fs';
import { usage } from '../../../core/cli/command.ts';
import { messageOf } from '../../../core/errors.ts';
import { type RelPath, toSystemPath } from '../../../core/path.ts';
import type { RunRequest } from '../../action/request.ts';
import { refuseLinkedParents } from '../../outputs/outputs.ts';
import { moveAside } from '../../outputs/restore.ts';
import { clearAfterKilledRuns } from '../../outputs/run-records.ts';
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
    if (request.sandbox) throw usage('a sandbox shows a command its declaration only, and no state');
    return new StateAroundRun(request, context, await StateStore.open(action, context));
  }

  /** Whose state the command finds now; undefined if it finds none. */
  async prepare(): Promise<string | undefined> {
    const { workspace, state, hermetic } = this.#request;
    clearAfterKilledRuns(workspace);
    if (hermetic === 'strict' || this.#context.withoutState) return this.#clear(state);
    if (!this.#store) return state.some((path) => isThere(workspace, path)) ? OWN : undefined;
    const found = await this.#store.restoreNearest(workspace);
    if (!found) return this.#clear(state);
    const from = nameOf(found);
    this.#context.report({ type: 'state-carried', from });
    return this.#clear(pathsOf(this.#request).filter((path) => !found.paths.includes(path))) ?? from;
  }

  /** Of a command that went well. */
  async save({ exitCode, signal }: Execution): Promise<void> {
    if (exitCode === 0 && signal === undefined) await this.#store?.save();
  }

  /** Undefined if nothing is left there. */
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
      return `${OWN}, which could not be set aside (${messageOf(error)})`;
    }
  }
}

const OWN = 'the state that lay in the workspace';

function nameOf({ commit, from }: EarlierState): string {
  const whose = commit === undefined ? 'an earlier run' : `commit ${commit.slice(0, 12)}`;
  return `the state of ${whose}${from === 'remote' ? ', from the remote' : ''}`;
}

/** What can't be looked at is there, for all that is known. */
function isThere(workspace: string, path: RelPath): boolean {
  try {
    return lstatSync(toSystemPath(workspace, path), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}
