// The port for wings that add functions to the library. Each member belongs to one wing. A build without that wing lacks
// the member, and the function is refused with ASSAY_NOT_IN_BUILD.
import { AssayError } from '../../core/errors.ts';
import type { Variables } from '../action/environment.ts';
import type { HitReceipt } from '../run/receipt.ts';
import type { RunEvent } from '../terminal/events.ts';

export interface LibraryPort {
  call?(call: FunctionCall, run: CallFunction, options: CallOptions): Promise<CallOutcome>;
  save?(label: string, folders: WorkspaceFolders): Promise<SavedPoint>;
  restore?(label: string, folders: WorkspaceFolders): Promise<RestoredPoint>;
}

/** A call of a function as an action: what of it decides the answer. */
export interface FunctionCall {
  readonly name: string;
  /** Another text makes another action. Change it when the function changes. */
  readonly version: string;
  /** A JSON value (default: null). The order of keys does not matter. */
  readonly input?: unknown;
  /** Files, folders or globs below the workspace that the function reads; "!GLOB" takes away. */
  readonly files?: readonly string[] | undefined;
  /** Variables that the function reads: NAME, PREFIX_*, or NAME=VALUE. */
  readonly environment?: readonly string[] | undefined;
  /** A folder below the workspace for the files that the function writes. What else lies there goes. */
  readonly folder?: string | undefined;
  /** The folder that paths are relative to (default: the current one). */
  readonly workspace?: string | undefined;
}

/** Its answer is a JSON value, bytes, or nothing. */
export type CallFunction = (context: CallContext) => unknown;

export interface CallContext {
  /** The input of the call, as a hit sees it: a copy. */
  readonly input: unknown;
  /** An empty folder, if the call names one. What the function leaves there is stored. */
  readonly folder: string;
}

export interface CallOptions {
  /** The folder of the local store (default: ASSAY_STORE, or the user's cache folder). */
  readonly store?: string | undefined;
  /** The URL of a shared cache. It is used only with `keepUnproven: 'shared'`. */
  readonly remote?: string | undefined;
  /** Sent to the remote as a Bearer token. */
  readonly token?: string | undefined;
  /** Where declared variables get their values (default: process.env). */
  readonly variables?: Variables | undefined;
  /** `shared`: the answer is also taken from the remote and sent there (default: local). */
  readonly keepUnproven?: 'local' | 'shared' | undefined;
  /** Keep an error that the function throws, and throw it again instead of calling (default: false). */
  readonly keepErrors?: boolean | undefined;
  /** FunctionCall the function, whatever is stored. */
  readonly force?: boolean | undefined;
  /** Receives the events of the call. */
  readonly report?: ((event: RunEvent) => void) | undefined;
}

export interface CallOutcome {
  readonly outcome: 'hit-local' | 'hit-remote' | 'miss';
  readonly key: string;
  /** The answer: what JSON makes of it, bytes, or undefined. A hit and a miss give the same. */
  readonly value: unknown;
  /** The local store has the answer. */
  readonly kept: boolean;
  /** The remote has it, as far as known. */
  readonly shared: boolean;
  /** Of a hit: whose call made the answer. */
  readonly receipt?: HitReceipt;
}

export interface WorkspaceFolders {
  /** The folders, below the workspace, that are saved or rolled back. */
  readonly folders: readonly string[];
  /** The folder that they are relative to (default: the current one). */
  readonly workspace?: string | undefined;
  /** The folder of the local store (default: ASSAY_STORE, or the user's cache folder). */
  readonly store?: string | undefined;
}

export interface SavedPoint {
  /** `taken`: the label exists already, and what it names stays. */
  readonly outcome: 'saved' | 'taken';
}

export interface RestoredPoint {
  /** How many of the folders were not as they were saved, and are now. */
  readonly written: number;
  /** The label of what was there before, if anything differed. */
  readonly saved?: string;
}

/** Gives the functions of the wings of a build. */
type OpenLibraryPort = () => Promise<LibraryPort>;

interface LibraryFunctions {
  call(call: FunctionCall, run: CallFunction, options?: CallOptions): Promise<CallOutcome>;
  readonly workspace: {
    save(label: string, folders: WorkspaceFolders): Promise<SavedPoint>;
    restore(label: string, folders: WorkspaceFolders): Promise<RestoredPoint>;
  };
}

export function libraryOf(open: OpenLibraryPort): LibraryFunctions {
  return {
    call: async (call, run, options = {}) => needed((await open()).call, 'call')(call, run, options),
    workspace: {
      save: async (label, folders) => needed((await open()).save, 'workspace.save')(label, folders),
      restore: async (label, folders) => needed((await open()).restore, 'workspace.restore')(label, folders),
    },
  };
}

function needed<F>(found: F | undefined, name: string): F {
  if (found === undefined)
    throw new AssayError('ASSAY_NOT_IN_BUILD', `${name}: this build of Assay has no wing for it`);
  return found;
}
