// The blobs of the disk engine: small ones inside the index, large ones in files that the index points to. Nothing is
// there unless the index says so, and the index says so only after every byte is durable.
import { type Digest, digestOf, type Hash } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import type { OnStoreEvent } from '../../events.ts';
import { STORE } from '../../limits.ts';
import type { RawBlob, RawBlobs } from '../../raw.ts';
import { releaseBuffer } from '../../shared/buffers.ts';
import { checksumOfSmall } from '../../shared/checksum.ts';
import { refuseMismatch } from '../../shared/expected.ts';
import type { Content, Expected } from '../../store.ts';
import { removeFile } from '../fs/calls.ts';
import { fileName, filePath, type Layout } from '../fs/layout.ts';
import { isGeneration, newGeneration } from '../index/generation.ts';
import type { Entry, Index } from '../index/index.ts';
import { isFresh, type Leases } from '../index/leases.ts';
import { decodeChecksums } from '../index/records.ts';
import { fileSize, openToRead } from './blob-file.ts';
import { hashOnly, IncomingBlob, type StagedBlob, toChunks } from './incoming-blob.ts';
import type { Quarantine } from './quarantine.ts';
import type { Sweeper } from './sweep.ts';

export class DiskBlobs implements RawBlobs {
  readonly #layout: Layout;
  readonly #index: Index;
  readonly #quarantine: Quarantine;
  readonly #sweeper: Sweeper;
  readonly #leases: Leases;
  readonly #onEvent: OnStoreEvent;

  constructor(
    layout: Layout,
    index: Index,
    leases: Leases,
    quarantine: Quarantine,
    sweeper: Sweeper,
    onEvent: OnStoreEvent,
  ) {
    this.#layout = layout;
    this.#index = index;
    this.#leases = leases;
    this.#quarantine = quarantine;
    this.#sweeper = sweeper;
    this.#onEvent = onEvent;
  }

  async get(hash: Hash): Promise<RawBlob | undefined> {
    const entry = this.#findToRead(hash);
    if (!entry) return undefined;
    if (!this.#leases.isLeased(entry)) {
      await this.#leases.renew([hash]);
      return this.#read(hash);
    }
    return this.#read(hash, entry);
  }

  /**
   * A small blob that was there a moment ago, in the view that the index had anyway, is as right as one that is there now:
   * its bytes are in that view. A file may be gone, and what was not there may have come.
   */
  #findToRead(hash: Hash): Entry | undefined {
    const entry = this.#index.find(hash);
    if (entry && !entry.isFile) return entry;
    this.#index.refresh();
    return this.#index.find(hash);
  }

  /** The same blobs for who only looks at them: being looked at is no use. */
  unleased(): RawBlobs {
    return {
      get: async (hash) => {
        this.#index.refresh();
        return this.#read(hash);
      },
      put: (expected, content) => this.put(expected, content),
      missing: (digests) => this.missing(digests),
      touch: (hashes) => this.touch(hashes),
      quarantine: (hash, generation, detail) => this.quarantine(hash, generation, detail),
    };
  }

  /** At once for a small blob, since most are. */
  #read(hash: Hash, entry = this.#index.find(hash)): Promise<RawBlob> | RawBlob | undefined {
    if (!entry) return undefined;
    if (!isGeneration(entry.generation)) return { ...entry, kind: 'broken', detail: 'its record is damaged' };
    const content = this.#index.contentOf(hash, entry) ?? Buffer.alloc(0);
    return entry.isFile ? this.#large(hash, entry, content) : rawSmall(entry, content);
  }

  async #large(hash: Hash, { generation, size }: Entry, content: Buffer): Promise<RawBlob> {
    const checksums = decodeChecksums(content, size);
    if (!checksums) return { kind: 'broken', generation, size, detail: 'its checksums do not fit its size' };
    const path = filePath(this.#layout, hash, generation);
    const found = await fileSize(path);
    if (found === size) return { kind: 'large', generation, size, checksums, open: () => openToRead(path) };
    const detail =
      found === undefined ? 'its file is missing' : `its file has ${found} bytes instead of ${size}`;
    return { kind: 'broken', generation, size, detail };
  }

  async put(expected: Expected, content: Content): Promise<Digest> {
    if (content instanceof Uint8Array && isSmall(content)) return this.#putSmall(expected, content);
    const chunks = toChunks(expected, content);
    try {
      const { value: first = Buffer.alloc(0) } = await chunks.next();
      if (!isSmall(first)) return await this.#putLarge(expected, prepend(first, chunks));
      return await this.#putSmall(expected, first).finally(() => releaseBuffer(first));
    } finally {
      await chunks.return(undefined);
    }
  }

  async #putSmall(expected: Expected, bytes: Uint8Array): Promise<Digest> {
    const digest = digestOf(bytes);
    refuseMismatch(expected, digest);
    // A copy, because the index reads it on another thread, when the caller's memory may be in use again.
    const location = { isFile: false, generation: newGeneration(), checksum: checksumOfSmall(bytes) };
    await this.#addIfAbsent(digest, location, Buffer.from(bytes));
    return digest;
  }

  async #putLarge(expected: Expected, chunks: AsyncIterable<Buffer>): Promise<Digest> {
    if (await this.#isPresent(expected)) return this.#confirm(expected, chunks);
    const incoming = await IncomingBlob.create(this.#layout, expected.size);
    try {
      const digest = await incoming.fill(chunks);
      refuseMismatch(expected, digest);
      await this.addStaged(incoming, digest);
      return digest;
    } finally {
      await incoming.discard();
    }
  }

  /** Nothing is written for what is there already, so it must still be there at the end. */
  async #confirm(expected: Expected, chunks: AsyncIterable<Buffer>): Promise<Digest> {
    const digest = await hashOnly(chunks);
    refuseMismatch(expected, digest);
    if (await this.#isPresent(digest)) return digest;
    throw new AssayError(
      'ASSAY_STORE_FAULT',
      `${digest.hash} was removed while it was sent again; send it once more`,
    );
  }

  /** Lets in what is staged and has that digest. */
  async addStaged(incoming: StagedBlob, digest: Digest): Promise<void> {
    const { hash } = digest;
    const generation = newGeneration();
    let isAdded = false;
    try {
      await incoming.moveIntoPlace(hash, generation);
      isAdded = await this.#addIfAbsent(
        digest,
        { isFile: true, generation, checksum: undefined },
        incoming.checksums(),
      );
    } finally {
      if (!isAdded) await removeFile(filePath(this.#layout, hash, generation));
    }
    this.#sweeper.afterPut();
  }

  /** It is there when this resolves; false if it was before. */
  async #addIfAbsent(
    { hash, size }: Digest,
    location: Pick<Entry, 'isFile' | 'generation' | 'checksum'>,
    content: Buffer,
  ): Promise<boolean> {
    for (;;) {
      const entry = this.#findCurrent(hash);
      if (!entry) {
        const stamp = this.#leases.clock.stamp();
        if (await this.#index.add(hash, { ...location, size }, content, stamp)) return true;
        this.#index.refresh();
      } else if (entry.size !== size) {
        // The content that has this hash has this size: such an entry is damaged, and gives way.
        await this.quarantine(hash, entry.generation, 'its record is damaged');
      } else if (this.#leases.isLeased(entry) || (await this.#isPresent({ hash, size }))) return false;
    }
  }

  /** What is found is there now. What is not may have come a moment ago, which an `add` finds out: most have not. */
  #findCurrent(hash: Hash): Entry | undefined {
    if (!this.#index.find(hash)) return undefined;
    this.#index.refresh();
    return this.#index.find(hash);
  }

  /** And leased, if it is. */
  async #isPresent({ hash, size }: Expected): Promise<boolean> {
    if (hash === undefined) return false;
    this.#index.refresh();
    let entry = this.#index.find(hash);
    if (entry && !this.#leases.isLeased(entry)) {
      await this.#leases.renew([hash]);
      entry = this.#index.find(hash);
    }
    return entry !== undefined && (size === undefined || size === entry.size);
  }

  async missing(digests: readonly Digest[]): Promise<Digest[]> {
    if (digests.length <= STORE.staleViewBlobs && this.#areLeased(digests)) return [];
    this.#index.refresh();
    const fresh = this.#leases.clock.freshBlob();
    const ticks = this.#index.ticksOf(digests);
    const unleased = digests.filter((_, index) => {
      const tick = ticks[index];
      return tick !== undefined && !isFresh(tick, fresh);
    });
    if (unleased.length === 0) return absentFrom(digests, ticks);
    await this.#leases.renew(unleased.map(({ hash }) => hash));
    return absentFrom(digests, this.#index.ticksOf(digests));
  }

  /** In the view that the index had anyway: what is leased there is still there. */
  #areLeased(digests: readonly Digest[]): boolean {
    const fresh = this.#leases.clock.freshBlob();
    return this.#index.ticksOf(digests).every((tick) => tick !== undefined && isFresh(tick, fresh));
  }

  async touch(hashes: readonly Hash[]): Promise<void> {
    await this.#leases.renew(hashes);
  }

  async quarantine(hash: Hash, generation: number, detail: string): Promise<void> {
    const entry = this.#index.find(hash);
    const bytes = !entry || entry.isFile ? undefined : this.#index.contentOf(hash, entry);
    if (!(await this.#index.remove(hash, generation))) return;
    const name = fileName(hash, generation);
    const fate = bytes
      ? await this.#quarantine.keepBytes(name, bytes)
      : await this.#quarantine.keepFile(name, filePath(this.#layout, hash, generation));
    this.#onEvent({ type: 'quarantined', hash, detail: `${detail}; ${fate}` });
  }
}

function absentFrom(digests: readonly Digest[], ticks: readonly (number | undefined)[]): Digest[] {
  return digests.filter((_, index) => ticks[index] === undefined);
}

function rawSmall({ generation, size, checksum }: Entry, bytes: Buffer): RawBlob {
  if (bytes.length === size) return { kind: 'small', generation, size, bytes, checksum };
  return { kind: 'broken', generation, size, detail: `it has ${bytes.length} bytes instead of ${size}` };
}

function isSmall(bytes: Uint8Array): boolean {
  return bytes.byteLength <= STORE.inlineBytes;
}

async function* prepend(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}
