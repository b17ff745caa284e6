// An action with its key: what was declared, and what of it the key was computed from.
// client/run/key.ts alone makes one.
import type { EncodedAction, Property } from '../../core/action.ts';
import type { Digest } from '../../core/digest.ts';
import type { RunRequest } from '../action/request.ts';
import type { Tool } from '../tools/tools.ts';
import type { Inputs } from './inputs.ts';

export interface KeyedAction extends EncodedAction {
  readonly request: RunRequest;
  readonly inputs: Inputs;
  readonly environment: readonly Property[];
  /** The command's own program first, then the declared ones. */
  readonly tools: readonly [Tool, ...Tool[]];
}

/** The part of an action that restoring a result needs. */
export interface IdentifiedAction {
  readonly request: RunRequest;
  readonly key: Pick<Digest, 'hash'>;
}
