// A memoised call: the function is called only if no earlier call with the same key left an answer.
// Guarantees:
// - An answer is whole and verified, or there is none. A hit gives what the call that made it gave.
// - Two equal calls at once, in this process or in two, make one call. One that is killed leaves nothing behind.
// - A store or remote that fails costs hits. It changes no answer and fails no call.
// - No run takes an answer: they lie in a namespace of their own, under keys of their own kind.
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type {
  CallFunction,
  CallOptions,
  CallOutcome,
  FunctionCall,
} from '../../../client/library/library-port.ts';
import { clientFolder, makeClientFolder } from '../../../client/local-store/client-folder.ts';
import { storeFolder } from '../../../client/local-store/store-folder.ts';
import { type Output, refuseLinkedParents } from '../../../client/outputs/outputs.ts';
import { restoreOutputs } from '../../../client/outputs/restore.ts';
import { fetchContent } from '../../../client/remote/fetch-content.ts';
import { handleFault } from '../../../client/remote/remote.ts';
import { upload } from '../../../client/remote/transfer.ts';
import { putLocally } from '../../../client/run/publish.ts';
import type { RunEvent } from '../../../client/terminal/events.ts';
import { usage } from '../../../core/cli/command.ts';
import { AssayError, messageOf } from '../../../core/errors.ts';
import { type RelPath, toSystemPath } from '../../../core/path.ts';
import { decodeResult } from '../../../core/result.ts';
import { readBlob } from '../../../store/shared/read-blob.ts';
import type { Store } from '../../../store/store.ts';
import { LockBusy, withFileLock } from '../../../system/files/file-lock.ts';
import { removeTemporaryFolder, temporaryFolder } from '../../../system/files/temporary-folder.ts';
import { CALLS_NAMESPACE, checkCall, type KeyedCall, keyCall } from './key.ts';
import { CALLS } from './limits.ts';
import {
  answerOf,
  answerOfError,
  type CallAnswer,
  decodeAnswer,
  encodeAnswer,
  type StoredAnswer,
  valueIn,
} from './record.ts';
import { type CallSession, withSession } from './session.ts';

/** What one call needs beside itself. */
interface At extends CallSession {
  readonly keyed: KeyedCall;
  readonly run: CallFunction;
  readonly options: CallOptions;
  readonly store: Store | undefined;
  readonly storeFolder: string;
  report(event: RunEvent): void;
}

/** An answer and where it came from. */
interface Ended {
  readonly answer: CallAnswer;
  readonly outcome: Pick<CallOutcome, 'outcome' | 'kept' | 'shared' | 'receipt'>;
}

const OPTIONS = ['store', 'remote', 'token', 'variables', 'keepUnproven', 'keepErrors', 'force', 'report'];

/** The calls that run in this process, by store and key. */
const running = new Map<string, Promise<Ended>>();

export async function call(
  declared: FunctionCall,
  run: CallFunction,
  options: CallOptions,
): Promise<CallOutcome> {
  const checked = checkCall(declared);
  checkOptions(run, options);
  if (checked.folder !== undefined) refuseLinkedParents(checked.request.workspace, checked.folder);
  const { report = () => undefined, variables = process.env, keepUnproven = 'local' } = options;
  const folder = storeFolder(options.store, process.env);
  const remote = keepUnproven === 'shared' ? options.remote : undefined;
  const where = { storeFolder: folder, workspace: checked.request.workspace, remote, token: options.token };
  return withSession(where, report, async (session) => {
    const keyed = keyCall(checked, session.cache.inputs, variables);
    const store = await session.cache.openStore();
    const { cache } = session;
    const openRemote = () => session.openRemote();
    const at: At = { cache, openRemote, keyed, run, options, store, storeFolder: folder, report };
    const { answer, outcome } = await once(at);
    return { ...outcome, key: keyed.key.hash, value: valueIn(answer) };
  });
}

/** A call waits for the same one of this process, and then finds its answer. */
async function once(at: At): Promise<Ended> {
  const { keyed, storeFolder: folder, store } = at;
  const name = `${folder}\0${keyed.key.hash}`;
  const other = running.get(name);
  if (!other) {
    const own = ended(at).finally(() => running.delete(name));
    running.set(name, own);
    return own;
  }
  const { answer, outcome } = await other;
  if (keyed.folder === undefined) return { answer, outcome: { ...outcome, outcome: 'hit-local' } };
  return (store && (await localHit(at, store))) ?? once(at);
}

async function ended(at: At): Promise<Ended> {
  const { store, options, storeFolder: folder, keyed } = at;
  if (!store) return made(at);
  const found = options.force ? undefined : await localHit(at, store);
  if (found) return found;
  const locks = join(clientFolder(folder), 'calls');
  let hasLock = false;
  try {
    makeClientFolder(locks);
    return await withFileLock(
      join(locks, `${keyed.key.hash}.lock`),
      async () => {
        hasLock = true;
        const earlier = options.force
          ? undefined
          : ((await localHit(at, store)) ?? (await remoteHit(at, store)));
        return earlier ?? (await made(at));
      },
      CALLS,
    );
  } catch (error) {
    // The folder of locks is not usable, or the other process takes too long: this call runs beside it.
    if (!hasLock && (error instanceof LockBusy || isOfSystem(error))) return made(at);
    throw error;
  }
}

async function localHit(at: At, store: Store): Promise<Ended | undefined> {
  const { keyed, report } = at;
  try {
    const stored = await store.results.get(addressOf(keyed));
    if (!stored) return undefined;
    const found = await decodeAnswer(stored.bytes, store.blobs, ({ hash }) => readBlob(hash, store.blobs));
    return await taken(at, store, found, 'hit-local');
  } catch (error) {
    report({ type: 'hit-unusable', why: messageOf(error) });
    return undefined;
  }
}

async function remoteHit(at: At, store: Store): Promise<Ended | undefined> {
  const { keyed, report } = at;
  const remote = await at.openRemote();
  if (!remote?.usable) return undefined;
  try {
    const bytes = await remote.getResult(keyed.key);
    if (!bytes) return undefined;
    // The record is judged below, before it can occupy the key.
    await fetchContent(decodeResult(bytes), store.blobs, remote, report, async () => undefined);
    const found = await decodeAnswer(bytes, store.blobs, ({ hash }) => readBlob(hash, store.blobs));
    await store.results.put(addressOf(keyed), bytes);
    return await taken(at, store, found, 'hit-remote');
  } catch (error) {
    report(handleFault(remote, error));
    return undefined;
  }
}

/** Undefined if the answer is an error that this call does not want, or lacks the files that it wants. */
async function taken(
  at: At,
  store: Store,
  { answer, files, receipt }: StoredAnswer,
  outcome: 'hit-local' | 'hit-remote',
): Promise<Ended | undefined> {
  const { keyed, options, cache } = at;
  if (answer.kind === 'error' && !options.keepErrors) return undefined;
  if (keyed.folder !== undefined && answer.kind !== 'error') {
    if (!files) return undefined;
    await restoreOutputs([movedTo(files, keyed.folder)], keyed.request.workspace, store.blobs, cache.digests);
  }
  return { answer, outcome: { outcome, kept: true, shared: outcome === 'hit-remote', receipt } };
}

/** Calls the function, and keeps its answer. What it throws is thrown here, unless errors are kept. */
async function made(at: At): Promise<Ended> {
  const { keyed, run, options } = at;
  const root = keyed.folder === undefined ? undefined : temporaryFolder('call');
  try {
    const folder = root === undefined ? '' : join(root, 'files');
    if (root !== undefined) mkdirSync(folder);
    const startedAt = Date.now();
    const input: unknown = JSON.parse(keyed.input);
    let answer: CallAnswer;
    let thrown: { readonly error: unknown } | undefined;
    try {
      answer = answerOf(await run({ input, folder }));
    } catch (error) {
      if (!options.keepErrors || error instanceof AssayError) throw error;
      thrown = { error };
      answer = answerOfError(error);
    }
    const ofFiles = thrown ? undefined : root;
    const outcome = await keep(at, answer, { startedAt, endedAt: Date.now(), root: ofFiles });
    if (thrown) throw thrown.error;
    if (ofFiles !== undefined && keyed.folder !== undefined)
      await placeFiles(at, folder, keyed.folder, outcome.kept);
    return { answer, outcome: { outcome: 'miss', ...outcome } };
  } finally {
    if (root !== undefined) removeTemporaryFolder(root);
  }
}

/** First the blobs, then the record; first here, then at the remote. */
async function keep(
  at: At,
  answer: CallAnswer,
  times: Parameters<typeof encodeAnswer>[2],
): Promise<{ readonly kept: boolean; readonly shared: boolean }> {
  const { keyed, store, cache, options, report } = at;
  const { inputs, request } = keyed;
  const record = encodeAnswer(keyed, answer, times, cache.digests, options.variables ?? process.env);
  const refused = (why: string) => {
    report({ type: 'not-published', why });
    return { kept: false, shared: false };
  };
  if (!store) return { kept: false, shared: false };
  const changed = inputs && cache.inputs.changeSince(inputs, request);
  if (changed !== undefined) return refused(changed);
  try {
    await putLocally(record.contents, store.blobs);
    const outcome = await store.results.put(addressOf(keyed), record.bytes);
    if (outcome === 'diverged') return refused('an earlier call gave another answer, which is kept');
  } catch (error) {
    return refused(messageOf(error));
  }
  return { kept: true, shared: await share(at, store, record) };
}

async function share(
  { keyed, openRemote, report }: At,
  store: Store,
  record: ReturnType<typeof encodeAnswer>,
): Promise<boolean> {
  const remote = await openRemote();
  if (!remote?.usable || !remote.takesWrites) return false;
  try {
    const digests = record.contents.map(({ digest }) => digest);
    await upload(digests, store.blobs, remote, report);
    return (await remote.putResult(keyed.key, record.bytes)) === 'stored';
  } catch (error) {
    report(handleFault(remote, error));
    return false;
  }
}

/** From the store, as a hit has them: staged, and then renamed into place. What is not kept is copied. */
async function placeFiles(at: At, from: string, folder: RelPath, isKept: boolean): Promise<void> {
  if (isKept && at.store && (await localHit(at, at.store))) return;
  const target = toSystemPath(at.keyed.request.workspace, folder).toString();
  rmSync(target, { recursive: true, force: true });
  cpSync(from, target, { recursive: true, verbatimSymlinks: true });
}

function movedTo(files: Output, path: RelPath): Output {
  return { ...files, path };
}

function addressOf({ key }: KeyedCall) {
  return { namespace: CALLS_NAMESPACE, key: key.hash };
}

function isOfSystem(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}

function checkOptions(run: CallFunction, options: CallOptions): void {
  if (typeof run !== 'function') throw usage('a call needs the function');
  const unknown = Object.keys(Object(options)).find((name) => !OPTIONS.includes(name));
  if (unknown !== undefined)
    throw usage(`options of a call have no field ${JSON.stringify(unknown.slice(0, 40))}`);
  const { keepUnproven = 'local' } = options;
  if (keepUnproven !== 'local' && keepUnproven !== 'shared')
    throw usage('keepUnproven takes local or shared');
}
