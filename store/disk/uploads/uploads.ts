// Uploads in parts, on disk. The index never claims more bytes than are durable, so a crash costs at most
// STORE.uploadSyncBytes of resending. A part goes to a staging file. Every STORE.uploadSyncBytes, and when
// the part ends or fails, the file is synced, and then the index records its size.
//
// Only this process has the hash state of the bytes so far. To continue another process's upload, this
// process copies the bytes into its own file. So two processes never write to one file.
import type { Digest } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { STORE } from '../../limits.ts';
import { refuseExcess, refuseMismatch } from '../../shared/expected.ts';
import { IncomingPart, superseded } from '../../shared/incoming-part.ts';
import { type Expected, isLastPart, type UploadPart, type UploadStatus, type Uploads } from '../../store.ts';
import type { Holder } from '../accounts/accounts.ts';
import type { DiskBlobs, Owner } from '../files/blobs.ts';
import type { Sweeper } from '../files/sweep.ts';
import type { Layout } from '../fs/layout.ts';
import type { UploadEntry, UploadRecords } from '../index/upload-records.ts';
import { readStaged, removeStagedUpload, UploadFile } from './upload-file.ts';

export class DiskUploads implements Uploads {
  readonly #layout: Layout;
  readonly #records: UploadRecords;
  readonly #blobs: DiskBlobs;
  readonly #sweeper: Sweeper;
  /** Uploads that can continue without reading their file again; the least recently used comes first. */
  readonly #ready = new Map<string, UploadFile>();
  readonly #incoming = new Map<string, IncomingPart>();

  constructor(layout: Layout, records: UploadRecords, blobs: DiskBlobs, sweeper: Sweeper) {
    this.#layout = layout;
    this.#records = records;
    this.#blobs = blobs;
    this.#sweeper = sweeper;
  }

  /** The uploads of a tenant: its ids are its own, and its blobs become present for it. */
  ofTenant(tenant: string, holder: Holder): Uploads {
    const idOf = (id: string) => `${tenant}\0${id}`;
    return {
      status: (id) => this.status(idOf(id)),
      append: (id, part) => this.append(idOf(id), part, { tenant, holder }),
      cancel: (id) => this.cancel(idOf(id)),
    };
  }

  async status(id: string): Promise<UploadStatus | undefined> {
    const entry = await this.#find(id);
    return entry && { committed: entry.committed, isFinished: false };
  }

  append(id: string, part: UploadPart, owner = this.#blobs.nobody): Promise<UploadStatus> {
    return this.#exclusively(id, new IncomingPart(part.content), (incoming) =>
      this.#receive(id, part, incoming, owner),
    );
  }

  cancel(id: string): Promise<void> {
    return this.#exclusively(id, new IncomingPart(Buffer.alloc(0)), async () => {
      const entry = this.#records.find(id);
      if (entry) await this.#removeUpload(id, entry.generation);
    });
  }

  async close(): Promise<void> {
    for (const incoming of this.#incoming.values()) incoming.stop();
    await Promise.all([...this.#incoming.values()].map(({ finished }) => finished));
    await Promise.all([...this.#ready.values()].map((file) => file.close()));
  }

  /** Only the newest part of an upload runs: the connection of an older one is most likely gone. */
  async #exclusively<T>(
    id: string,
    incoming: IncomingPart,
    work: (incoming: IncomingPart) => Promise<T>,
  ): Promise<T> {
    for (let earlier = this.#incoming.get(id); earlier; earlier = this.#incoming.get(id)) {
      earlier.stop();
      await earlier.finished;
    }
    this.#incoming.set(id, incoming);
    try {
      return await work(incoming);
    } finally {
      incoming.close();
      this.#incoming.delete(id);
      incoming.finish();
    }
  }

  async #receive(id: string, part: UploadPart, incoming: IncomingPart, owner: Owner): Promise<UploadStatus> {
    const entry = await this.#find(id);
    refuseBadPart(entry, part);
    const file = (await this.#takeReady(id, entry)) ?? (await this.#begin(id, entry, part.expected, owner));
    const failure = await this.#fill(id, file, part, incoming);
    if (!failure && isLastPart(part)) return this.#finish(id, file, part.expected, owner);
    await this.#keepReady(id, file);
    if (failure) throw failure.cause;
    return { committed: file.size, isFinished: false };
  }

  /** A record of a finished upload, which Assay 0.1 kept, counts as none. */
  async #find(id: string): Promise<UploadEntry | undefined> {
    const entry = this.#records.find(id);
    if (!entry?.isFinished) return entry;
    await this.#records.remove(id, entry.generation);
    return undefined;
  }

  async #takeReady(id: string, entry: UploadEntry | undefined): Promise<UploadFile | undefined> {
    const file = this.#ready.get(id);
    this.#ready.delete(id);
    if (!file || file.generation === entry?.generation) return file;
    await file.close();
    return undefined;
  }

  async #begin(
    id: string,
    entry: UploadEntry | undefined,
    expected: Expected,
    { holder }: Owner,
  ): Promise<UploadFile> {
    if (!entry && this.#records.isFull && !(await this.#sweeper.makeUploadSlot()))
      throw new AssayError('ASSAY_TOO_MANY_UPLOADS', `${STORE.maxUploads} uploads are unfinished`);
    const file = await UploadFile.create(this.#layout, expected.size, holder.number);
    try {
      if (entry) await this.#takeOver(file, entry);
      await this.#commit(id, file, expected, entry?.generation);
    } catch (error) {
      await file.discard();
      throw error;
    }
    if (entry) await removeStagedUpload(this.#layout, entry.generation);
    return file;
  }

  async #takeOver(file: UploadFile, { generation, committed }: UploadEntry): Promise<void> {
    for await (const chunk of readStaged(this.#layout, generation, committed)) await file.append(chunk);
    await file.sync();
  }

  /**
   * Returns the failure of the content, after all received bytes are durable. Throws failures of our own
   * disk.
   */
  async #fill(
    id: string,
    file: UploadFile,
    { expected, offset }: UploadPart,
    incoming: IncomingPart,
  ): Promise<{ cause: unknown } | undefined> {
    try {
      if (file.size !== offset) return { cause: badOffset(file.size, offset) };
      const failure = await this.#takeAll(id, file, expected, incoming);
      await file.sync();
      await this.#commit(id, file, expected, file.generation);
      return failure;
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  async #takeAll(
    id: string,
    file: UploadFile,
    expected: Expected,
    incoming: IncomingPart,
  ): Promise<{ cause: unknown } | undefined> {
    let durable = file.size;
    for (;;) {
      const next = await outcomeOf(incoming.next());
      if ('cause' in next) return next;
      if (!next.piece) return undefined;
      await this.#refuseExcess(id, file, expected, next.piece.byteLength);
      await file.append(next.piece);
      if (file.size - durable < STORE.uploadSyncBytes) continue;
      await file.sync();
      await this.#commit(id, file, expected, file.generation);
      durable = file.size;
    }
  }

  async #refuseExcess(id: string, file: UploadFile, expected: Expected, more: number): Promise<void> {
    if (file.size + more <= (expected.size ?? Number.POSITIVE_INFINITY)) return;
    await this.#removeUpload(id, file.generation);
    refuseExcess(expected, file.size + more);
  }

  async #commit(
    id: string,
    { size: committed, generation, holder }: UploadFile,
    expected: Expected,
    replacing: number | undefined,
  ): Promise<void> {
    const record = { expected, committed, generation, holder };
    if (!(await this.#records.put(id, record, replacing))) throw superseded();
  }

  async #finish(id: string, file: UploadFile, expected: Expected, owner: Owner): Promise<UploadStatus> {
    try {
      const digest = await file.finish();
      if (isWrong(expected, digest)) await this.#removeUpload(id, file.generation);
      refuseMismatch(expected, digest);
      await this.#addToBlobs(file, digest, owner);
      await this.#records.remove(id, file.generation);
      return { committed: digest.size, isFinished: true, digest };
    } finally {
      await file.close();
    }
  }

  async #addToBlobs(file: UploadFile, digest: Digest, owner: Owner): Promise<void> {
    if (digest.size > STORE.inlineBytes) return this.#blobs.addStaged(file, digest, owner);
    if (digest.size > 0) await this.#blobs.put(digest, file.onlyChunk(), owner);
    await file.discard();
  }

  async #keepReady(id: string, file: UploadFile): Promise<void> {
    await file.suspend();
    this.#ready.set(id, file);
    if (this.#ready.size <= STORE.readyUploads) return;
    for (const [oldest, waiting] of this.#ready) {
      this.#ready.delete(oldest);
      return waiting.close();
    }
  }

  async #removeUpload(id: string, generation: number): Promise<void> {
    await this.#records.remove(id, generation);
    await this.#ready.get(id)?.close();
    this.#ready.delete(id);
    await removeStagedUpload(this.#layout, generation);
  }
}

/** Before anything is read or created for the part. */
function refuseBadPart(entry: UploadEntry | undefined, { expected, offset }: UploadPart): void {
  const { hash, size } = entry?.expected ?? expected;
  if (hash !== expected.hash || size !== expected.size) {
    throw new AssayError('ASSAY_DIGEST_MISMATCH', 'this upload began with another digest');
  }
  const committed = entry?.committed ?? 0;
  if (offset !== committed) throw badOffset(committed, offset);
}

function badOffset(committed: number, offset: number): AssayError {
  return new AssayError(
    'ASSAY_BAD_OFFSET',
    `the upload has ${committed} bytes, the part begins at ${offset}`,
  );
}

function isWrong(expected: Expected, { hash, size }: Digest): boolean {
  return (expected.hash ?? hash) !== hash || (expected.size ?? size) !== size;
}

async function outcomeOf(
  next: Promise<Uint8Array | undefined>,
): Promise<{ piece: Uint8Array | undefined } | { cause: unknown }> {
  try {
    return { piece: await next };
  } catch (cause) {
    return { cause };
  }
}
