// A step's state around one run: what its command finds in the state folders, and what is saved of them.
//
// State makes a command faster and is in no key. A result made with state is not proven equal to that of a
// clean run, so it is not published (docs/decisions/0074). A command finds the state of the nearest earlier
// run, with that run's outputs. If there is none, it finds empty folders: anything else there, such as a
// killed run's files, is removed.
import type { RunRequest } from '../../../client/action/request.ts';
import type { KeyedAction } from '../../../client/inputs/keyed-action.ts';
import { clearState, leftoverState } from '../../../client/outputs/clear-state.ts';
import { cleanUpKilledRuns } from '../../../client/outputs/run-records.ts';
import type { RunContext } from '../../../client/run/context.ts';
import type { Execution } from '../../../client/run/execute.ts';
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
    return new StateAroundRun(action.request, context, await StateStore.open(action, context));
  }

  /** Restores or clears the state. Returns whose state the command finds; undefined if none. */
  async prepare(): Promise<string | undefined> {
    const { workspace, state, hermetic } = this.#request;
    cleanUpKilledRuns(workspace);
    if (hermetic === 'strict' || this.#context.withoutState) return clearState(workspace, state);
    if (!this.#store) return leftoverState(workspace, state);
    const found = await this.#store.restoreNearest(workspace);
    if (!found) return clearState(workspace, state);
    const from = nameOf(found);
    this.#context.report({ type: 'state-carried', from });
    const others = pathsOf(this.#request).filter((path) => !found.paths.includes(path));
    return clearState(workspace, others) ?? from;
  }

  /** Saves the state of a command that succeeded. */
  async save({ exitCode, signal }: Execution): Promise<void> {
    if (exitCode === 0 && signal === undefined) await this.#store?.save();
  }
}

function nameOf({ commit, from }: EarlierState): string {
  const whose = commit === undefined ? 'an earlier run' : `commit ${commit.slice(0, 12)}`;
  return `the state of ${whose}${from === 'remote' ? ', from the remote' : ''}`;
}
