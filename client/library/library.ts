// Assay as a library: its functions and their options. The command line uses the same functions.
// bin/library.ts exports them to programs, with what the wings of the build do around commands.
import './node-version.ts';
import { AssayError, messageOf } from '../../core/errors.ts';
import { openDiskStore } from '../../store/open.ts';
import type { Store } from '../../store/store.ts';
import { type ActionDeclaration, requestFor } from '../action/declaration.ts';
import type { Variables } from '../action/environment.ts';
import { actionLeaseIn } from '../lease/mode.ts';
import { storeFolder } from '../local-store/store-folder.ts';
import { openCache } from '../run/caches.ts';
import { keyAction as keyOfRequest } from '../run/key.ts';
import type { RunSummary } from '../run/run.ts';
import type { OpenStepHook } from '../run/step-hook.ts';
import type { RunEvent } from '../terminal/events.ts';
import type { Writable } from '../terminal/sync-stream.ts';
import { runUnlessUpToDate } from '../up-to-date/run-unless-up-to-date.ts';
import { checkAction, checkOptions } from './arguments.ts';

export { type Digest, type Hash, parseHash } from '../../core/digest.ts';
export { AssayError, type ErrorCode } from '../../core/errors.ts';
export type { Blob, Blobs, Results, Store } from '../../store/store.ts';
export type { ActionDeclaration } from '../action/declaration.ts';
export type { RunSummary } from '../run/run.ts';
export type { RunEvent } from '../terminal/events.ts';

export interface LibraryOptions {
  /** The folder of the local store (default: ASSAY_STORE, or the user's cache folder). */
  readonly store?: string | undefined;
  /** The URL of a shared cache. A failing remote never changes what a run does. */
  readonly remote?: string | undefined;
  /** Sent to the remote as a Bearer token. */
  readonly token?: string | undefined;
  /** Where declared variables get their values and tools are searched (default: process.env). */
  readonly environment?: Variables | undefined;
  /** Run the command, whatever is stored. */
  readonly force?: boolean | undefined;
  /** Ends the command, as SIGTERM does; the run then rejects with ASSAY_INTERRUPTED. */
  readonly signal?: AbortSignal | undefined;
  /** Receive the command's output, whether it runs or is replayed (default: it is discarded). */
  readonly stdout?: Writable | undefined;
  readonly stderr?: Writable | undefined;
  /** Receives the events of the run. */
  readonly report?: ((event: RunEvent) => void) | undefined;
}

/** Runs an action, or restores its stored result. Rejects with an AssayError if the action is refused. */
type Run = (action: ActionDeclaration, options?: LibraryOptions) => Promise<RunSummary>;

/** `stepHook`: what the wings of the build do around commands. */
export function runWith(stepHook: OpenStepHook): Run {
  return (action, options = {}) => runAction(action, options, stepHook);
}

async function runAction(
  action: ActionDeclaration,
  options: LibraryOptions,
  stepHook: OpenStepHook,
): Promise<RunSummary> {
  checkAction(action);
  checkOptions(options);
  const { signal } = options;
  const throwIfCancelled = () => {
    if (signal?.aborted) throw interrupted(signal);
  };
  throwIfCancelled();
  const summary = await runUnlessUpToDate(requestFor(action), {
    ...options,
    throwIfCancelled,
    stepHook,
    actionLease: actionLeaseIn(options.environment ?? process.env),
    storeFolder: storeOf(options),
    caller: options.environment ?? process.env,
    stdout: options.stdout ?? DISCARD,
    stderr: options.stderr ?? DISCARD,
    report: options.report ?? ignore,
  });
  if (summary.outcome === 'miss' && summary.exitCode !== 0) throwIfCancelled();
  return summary;
}

function interrupted({ reason }: AbortSignal): AssayError {
  return new AssayError('ASSAY_INTERRUPTED', messageOf(reason), { cause: reason });
}

/** The key of an action: 64 hex digits. Runs nothing. */
export async function keyOf(action: ActionDeclaration, options: LibraryOptions = {}): Promise<string> {
  checkAction(action);
  checkOptions(options);
  const request = requestFor(action);
  const report = options.report ?? ignore;
  const folder = storeOf(options);
  const cache = openCache({ storeFolder: folder, workspace: request.workspace, now: Date.now, report });
  const caller = options.environment ?? process.env;
  try {
    return keyOfRequest(request, { cache, caller, report }).key.hash;
  } finally {
    await cache.close();
  }
}

/** Opens the local store: blobs by SHA-256, results by key. The caller closes it. */
export async function openStore(folder?: string): Promise<Store> {
  return openDiskStore({ directory: storeFolder(folder, process.env) });
}

function storeOf({ store }: LibraryOptions): string {
  return storeFolder(store, process.env);
}

const DISCARD: Writable = { write() {} };

function ignore(): void {}
