// The go command's cache entries: each is a result with one output file, in the local store and at the
// remote. Every failure is a miss, or an entry that is not stored.
//
// The go command may store another output under the same ID (a test log contains times), so the newest one
// wins.

import { fileChunks } from '../../client/files/file-chunks.ts';
import { handleFault, type Remote } from '../../client/remote/remote.ts';
import { download, upload } from '../../client/remote/transfer.ts';
import type { Report, RunEvent } from '../../client/terminal/events.ts';
import { type Digest, digestOf, parseDigest, toWire } from '../../core/digest.ts';
import { AssayError, messageOf } from '../../core/errors.ts';
import { parseNamespace } from '../../core/namespace.ts';
import { ActionResult } from '../../core/proto/generated/reapi.ts';
import { decodeResult, emptyResult } from '../../core/result.ts';
import type { Store } from '../../store/store.ts';
import { UploadQueue } from './upload-queue.ts';

/** The go command's keys are of another kind than Assay's, so they have a namespace. */
export const GO_NAMESPACE = parseNamespace('go');

export interface GoCacheEntry {
  readonly outputId: Buffer;
  readonly digest: Digest;
  /** When it was stored, in milliseconds since 1970: go uses it to expire test results. */
  readonly storedAt: number;
}

interface EntriesOptions {
  readonly store: Store;
  readonly remote?: Remote | undefined;
  readonly report: Report;
}

export class Entries {
  readonly #store: Store;
  readonly #remote: Remote | undefined;
  readonly #report: Report;
  readonly #uploads = new UploadQueue();
  readonly #reported = new Set<RunEvent['type']>();

  constructor({ store, remote, report }: EntriesOptions) {
    this.#store = store;
    this.#remote = remote;
    this.#report = report;
  }

  async get(actionId: Buffer): Promise<GoCacheEntry | undefined> {
    const key = digestOf(actionId);
    const stored = await this.#store.results.get(address(key));
    if (stored) return decode(stored.bytes);
    return this.#remote?.usable ? this.#fetch(key, this.#remote) : undefined;
  }

  /**
   * Resolves when it is durable in the local store, or has failed. The upload to the remote follows later.
   */
  async put(actionId: Buffer, entry: GoCacheEntry, file: string): Promise<void> {
    const key = digestOf(actionId);
    const result = encode(entry);
    try {
      const [missing] = await this.#store.blobs.missing([entry.digest]);
      if (missing) await this.#store.blobs.put(entry.digest, fileChunks(file));
      await this.#store.results.put(address(key), result, { replace: true });
    } catch (error) {
      this.#reportOnce({ type: 'store-unusable', why: messageOf(error) });
      return;
    }
    const remote = this.#remote;
    if (remote) this.#uploads.add(() => this.#share(key, entry.digest, result, remote));
  }

  content(digest: Digest): ReturnType<Store['blobs']['get']> {
    return this.#store.blobs.get(digest.hash);
  }

  /** Waits until all entries are uploaded, or the remote is given up. */
  async close(): Promise<void> {
    await this.#uploads.drained();
    await this.#remote?.close();
    await this.#store.close();
  }

  async #fetch(key: Digest, remote: Remote): Promise<GoCacheEntry | undefined> {
    try {
      const result = await remote.getResult(key);
      if (!result) return undefined;
      const entry = decode(result);
      await download([entry.digest], this.#store.blobs, remote, this.#report);
      await this.#store.results.put(address(key), result, { replace: true });
      return entry;
    } catch (error) {
      this.#giveUp(remote, error);
      return undefined;
    }
  }

  async #share(key: Digest, digest: Digest, result: Uint8Array, remote: Remote): Promise<void> {
    if (!remote.usable || !remote.takesWrites) return;
    try {
      await upload([digest], this.#store.blobs, remote, this.#report);
      await remote.putResult(key, result);
    } catch (error) {
      this.#giveUp(remote, error);
    }
  }

  #giveUp(remote: Remote, error: unknown): void {
    this.#reportOnce(handleFault(remote, error));
  }

  /** A full disk or a dead remote fails every request in the same way, so it is reported once. */
  #reportOnce(event: RunEvent): void {
    if (this.#reported.has(event.type)) return;
    this.#reported.add(event.type);
    this.#report(event);
  }
}

/**
 * The go command's output ID is the file's SHA-256, computed before it reads the file again to send it. If
 * the two differ, the file has changed. An ID of another length is no SHA-256 and is not checked.
 */
export function isIdOf(outputId: Buffer, { hash }: Digest): boolean {
  return outputId.length * 2 !== hash.length || outputId.toString('hex') === hash;
}

function address(key: Digest) {
  return { namespace: GO_NAMESPACE, key: key.hash };
}

/** The output's ID serves as its path. */
function encode({ outputId, digest, storedAt }: GoCacheEntry): Uint8Array {
  const contents = Buffer.alloc(0);
  const file = { path: outputId.toString('hex'), digest: toWire(digest), isExecutable: false, contents };
  const executionCompletedTimestamp = {
    seconds: Math.floor(storedAt / 1000),
    nanos: (storedAt % 1000) * 1_000_000,
  };
  return ActionResult.encode({
    ...emptyResult(0),
    outputFiles: [file],
    executionMetadata: { worker: '', executionCompletedTimestamp, auxiliaryMetadata: [] },
  }).finish();
}

function decode(bytes: Uint8Array): GoCacheEntry {
  const { outputFiles, executionMetadata } = decodeResult(bytes);
  const [file] = outputFiles;
  if (outputFiles.length !== 1 || !file?.digest || !OUTPUT_ID.test(file.path)) throw notOurs('its output');
  const digest = parseDigest(file.digest);
  const outputId = Buffer.from(file.path, 'hex');
  if (!isIdOf(outputId, digest)) throw notOurs('its output’s ID');
  const { seconds, nanos } = executionMetadata?.executionCompletedTimestamp ?? { seconds: 0, nanos: 0 };
  return { outputId, digest, storedAt: seconds * 1000 + Math.floor(nanos / 1_000_000) };
}

const OUTPUT_ID = /^(?:[0-9a-f]{2})+$/;

function notOurs(what: string): AssayError {
  return new AssayError('ASSAY_RESULT_MALFORMED', `${what} is not one of the go command’s`);
}
