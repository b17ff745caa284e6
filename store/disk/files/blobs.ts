// The blobs of the disk engine: small ones inside the index, large ones in files.
// A blob is present if and only if the index has an entry, and the entry is committed after every byte is
// durable.

import { type Digest, digestOf, type Hash } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { removeFile } from '../../../system/files/calls.ts';
import type { OnStoreEvent } from '../../events.ts';
import { STORE } from '../../limits.ts';
import type { RawBlob, RawBlobs } from '../../raw.ts';
import { BoundedMap } from '../../shared/bounded-map.ts';
import { releaseBuffer } from '../../shared/buffers.ts';
import { checksumOfSmall, decodeChecksums } from '../../shared/checksum.ts';
import { refuseMismatch } from '../../shared/expected.ts';
import type { Content, Expected } from '../../store.ts';
import type { Accounts, Holder } from '../accounts/accounts.ts';
import { fileName, filePath, type Layout } from '../fs/layout.ts';
import { isGeneration, newGeneration } from '../index/generation.ts';
import type { BlobEntry, Index } from '../index/index.ts';
import { isFreshTick, type Leases } from '../index/leases.ts';
import { belongsTo, EVERYONE, type Tenants, tenantsOf, withTenant } from '../index/records.ts';
import { fileSize, openToRead } from './blob-file.ts';
import { hashOnly, IncomingBlob, type StagedBlob, toChunks } from './incoming-blob.ts';
import type { Quarantine } from './quarantine.ts';
import type { Sweeper } from './sweep.ts';

/** The tenant and the holder that get a blob by a put. */
export interface Owner {
  /** Undefined for the store itself. */
  readonly tenant: string | undefined;
  readonly holder: Holder;
}

export class DiskBlobs implements RawBlobs {
  readonly #layout: Layout;
  readonly #index: Index;
  readonly #quarantine: Quarantine;
  readonly #sweeper: Sweeper;
  readonly #leases: Leases;
  readonly #accounts: Accounts;
  readonly #onEvent: OnStoreEvent;
  /** The lists of a new blob, by its tenant and its holder. */
  readonly #lists = new BoundedMap<number, Tenants>(STORE.tenantViews);

  constructor(
    layout: Layout,
    index: Index,
    leases: Leases,
    accounts: Accounts,
    quarantine: Quarantine,
    sweeper: Sweeper,
    onEvent: OnStoreEvent,
  ) {
    this.#layout = layout;
    this.#index = index;
    this.#leases = leases;
    this.#accounts = accounts;
    this.#quarantine = quarantine;
    this.#sweeper = sweeper;
    this.#onEvent = onEvent;
  }

  /** The blobs that a tenant has put, for that tenant. */
  ofTenant(tenant: string, holder: Holder): RawBlobs {
    const owner = { tenant, holder };
    return {
      get: (hash) => this.get(hash, tenant),
      put: (expected, content) => this.put(expected, content, owner),
      missing: (digests) => this.missing(digests, tenant, holder.number),
      touch: (hashes) => this.touch(hashes, tenant),
      quarantine: (hash, generation, detail) => this.quarantine(hash, generation, detail),
    };
  }

  /** Without a tenant, here and below: for the store itself, which sees every blob. */
  async get(hash: Hash, tenant?: string): Promise<RawBlob | undefined> {
    const number = this.#index.tenants.find(tenant);
    const entry = this.#findToRead(hash, number);
    if (!entry) return undefined;
    if (this.#leases.isFresh(entry)) return this.#read(hash, entry);
    await this.#leases.renew([hash]);
    return this.#read(hash, this.#findFor(hash, number));
  }

  /**
   * The current read view may be a moment old. It still holds the bytes of a small blob, so a small blob
   * found there is served. A file may be gone, and a missing blob may have been stored; for these the view is
   * refreshed.
   */
  #findToRead(hash: Hash, tenant: number): BlobEntry | undefined {
    const entry = this.#findFor(hash, tenant);
    if (entry && !entry.isFile) return entry;
    this.#index.refresh();
    return this.#findFor(hash, tenant);
  }

  /** Undefined also if the tenant has not put the blob. */
  #findFor(hash: Hash, tenant: number): BlobEntry | undefined {
    const entry = this.#index.find(hash);
    return entry && belongsTo(entry, tenant) ? entry : undefined;
  }

  /** The same blobs for an inspection, which renews no lease. */
  unleased(): RawBlobs {
    return {
      get: async (hash) => {
        this.#index.refresh();
        return this.#read(hash, this.#index.find(hash));
      },
      put: (expected, content) => this.put(expected, content),
      missing: (digests) => this.missing(digests),
      touch: (hashes) => this.touch(hashes),
      quarantine: (hash, generation, detail) => this.quarantine(hash, generation, detail),
    };
  }

  /** Synchronous for a small blob, because most blobs are small. */
  #read(hash: Hash, entry: BlobEntry | undefined): Promise<RawBlob> | RawBlob | undefined {
    if (!entry) return undefined;
    if (!isGeneration(entry.generation)) return { ...entry, kind: 'broken', detail: 'its record is damaged' };
    const content = this.#index.contentOf(hash, entry) ?? Buffer.alloc(0);
    return entry.isFile ? this.#large(hash, entry, content) : rawSmall(entry, content);
  }

  async #large(hash: Hash, { generation, size }: BlobEntry, content: Buffer): Promise<RawBlob> {
    const checksums = decodeChecksums(content, size);
    if (!checksums) return { kind: 'broken', generation, size, detail: 'its checksums do not fit its size' };
    const path = filePath(this.#layout, hash, generation);
    const found = await fileSize(path);
    if (found === size) return { kind: 'large', generation, size, checksums, open: () => openToRead(path) };
    const detail =
      found === undefined ? 'its file is missing' : `its file has ${found} bytes instead of ${size}`;
    return { kind: 'broken', generation, size, detail };
  }

  async put(expected: Expected, content: Content, owner = this.nobody): Promise<Digest> {
    if (content instanceof Uint8Array && isSmall(content)) return this.#putSmall(expected, content, owner);
    const chunks = toChunks(expected, content);
    try {
      const { value: first = Buffer.alloc(0) } = await chunks.next();
      if (!isSmall(first)) return await this.#putLarge(expected, prepend(first, chunks), owner);
      return await this.#putSmall(expected, first, owner).finally(() => releaseBuffer(first));
    } finally {
      await chunks.return(undefined);
    }
  }

  /** The owner of what belongs to no tenant. */
  get nobody(): Owner {
    return { tenant: undefined, holder: this.#accounts.rest };
  }

  async #putSmall(expected: Expected, bytes: Uint8Array, owner: Owner): Promise<Digest> {
    const digest = digestOf(bytes);
    refuseMismatch(expected, digest);
    // A copy: the index reads it on another thread, when the caller may use its memory again.
    const location = { isFile: false, generation: newGeneration(), checksum: checksumOfSmall(bytes) };
    await this.#addIfAbsent(digest, location, Buffer.from(bytes), owner);
    return digest;
  }

  async #putLarge(expected: Expected, chunks: AsyncIterable<Buffer>, owner: Owner): Promise<Digest> {
    if (await this.#isPresent(expected)) return this.#confirm(expected, chunks, owner);
    const incoming = await IncomingBlob.create(this.#layout, expected.size);
    try {
      const digest = await incoming.fill(chunks);
      refuseMismatch(expected, digest);
      await this.addStaged(incoming, digest, owner);
      return digest;
    } finally {
      await incoming.discard();
    }
  }

  /**
   * The blob was present at the start, perhaps for other tenants only, and nothing was staged. So it must be
   * present at the end. The tenant gets it because it has sent the whole content.
   */
  async #confirm(expected: Expected, chunks: AsyncIterable<Buffer>, owner: Owner): Promise<Digest> {
    const digest = await hashOnly(chunks);
    refuseMismatch(expected, digest);
    const number = await this.#index.tenants.assign(owner.tenant);
    while (await this.#isPresent(digest)) {
      const entry = this.#index.find(digest.hash);
      if (entry && (await this.#giveTo(number, owner.holder, digest.hash, entry))) return digest;
    }
    throw new AssayError(
      'ASSAY_STORE_FAULT',
      `${digest.hash} was removed while it was sent again; send it once more`,
    );
  }

  /** Tenant and holder have the blob when this resolves. False if the entry has changed meanwhile. */
  async #giveTo(tenant: number, holder: Holder, hash: Hash, entry: BlobEntry): Promise<boolean> {
    if (isOf(entry, tenant, holder)) return true;
    const tenants = withTenant(this.#accounts.listWith(entry.tenants, holder), tenant);
    return this.#index.stampBlob(hash, entry, this.#leases.clock.stamp(), tenants);
  }

  /** Moves a staged blob with that digest into place and adds it to the index. */
  async addStaged(incoming: StagedBlob, digest: Digest, owner = this.nobody): Promise<void> {
    const { hash } = digest;
    const generation = newGeneration();
    let isAdded = false;
    try {
      await incoming.moveIntoPlace(hash, generation);
      isAdded = await this.#addIfAbsent(
        digest,
        { isFile: true, generation, checksum: undefined },
        incoming.checksums(),
        owner,
      );
    } finally {
      if (!isAdded) await removeFile(filePath(this.#layout, hash, generation));
    }
    this.#sweeper.afterPut();
  }

  /** The blob is present, for its owner too, when this resolves. False if it was stored before. */
  async #addIfAbsent(
    { hash, size }: Digest,
    location: Pick<BlobEntry, 'isFile' | 'generation' | 'checksum'>,
    content: Buffer,
    { tenant, holder }: Owner,
  ): Promise<boolean> {
    const number = await this.#index.tenants.assign(tenant);
    const tenants = this.#listOf(number, holder);
    for (;;) {
      const entry = this.#findCurrent(hash);
      if (!entry) {
        const stamp = this.#leases.clock.stamp();
        if (await this.#index.add(hash, { ...location, size, tenants }, content, stamp)) return true;
        this.#index.refresh();
      } else if (entry.size !== size) {
        // A hash determines the size, so this entry is damaged and makes way.
        await this.quarantine(hash, entry.generation, 'its record is damaged');
      } else if (!isOf(entry, number, holder)) {
        if (await this.#giveTo(number, holder, hash, entry)) return false;
      } else if (this.#leases.isFresh(entry) || (await this.#isPresent({ hash, size }))) return false;
    }
  }

  /** One object for each pair, because most puts are of a few pairs. */
  #listOf(tenant: number, { number }: Holder): Tenants {
    const key = tenant * 2 ** 16 + number;
    const known = this.#lists.get(key);
    if (known) return known;
    const list = tenantsOf(...new Set([tenant, number].filter((one) => one !== EVERYONE)));
    this.#lists.set(key, list);
    return list;
  }

  /**
   * Refreshes only if the old view has the entry. If it does not, `add` finds out whether that is still true.
   */
  #findCurrent(hash: Hash): BlobEntry | undefined {
    if (!this.#index.find(hash)) return undefined;
    this.#index.refresh();
    return this.#index.find(hash);
  }

  /** Leases the blob if it is present. */
  async #isPresent({ hash, size }: Expected): Promise<boolean> {
    if (hash === undefined) return false;
    this.#index.refresh();
    let entry = this.#index.find(hash);
    if (entry && !this.#leases.isFresh(entry)) {
      await this.#leases.renew([hash]);
      entry = this.#index.find(hash);
    }
    return entry !== undefined && (size === undefined || size === entry.size);
  }

  async missing(digests: readonly Digest[], tenant?: string, holder = EVERYONE): Promise<Digest[]> {
    const number = this.#index.tenants.find(tenant);
    if (digests.length <= STORE.staleViewBlobs && this.#leases.areFresh(digests, number, holder)) return [];
    this.#index.refresh();
    const fresh = this.#leases.clock.freshBlob();
    const ticks = this.#index.ticksOf(digests, number);
    const stale = digests.filter((_, index) => {
      const tick = ticks[index];
      return tick !== undefined && !isFreshTick(tick, fresh);
    });
    if (stale.length === 0) return absentFrom(digests, ticks);
    await this.#leases.renew(stale.map(({ hash }) => hash));
    return absentFrom(digests, this.#index.ticksOf(digests, number));
  }

  async touch(hashes: readonly Hash[], tenant?: string): Promise<void> {
    await this.#leases.renew(tenant === undefined ? hashes : this.#ofTenant(hashes, tenant));
  }

  #ofTenant(hashes: readonly Hash[], name: string): Hash[] {
    const tenant = this.#index.tenants.find(name);
    this.#index.refresh();
    return hashes.filter((hash) => this.#findFor(hash, tenant));
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

function isOf(entry: BlobEntry, tenant: number, holder: Holder): boolean {
  return belongsTo(entry, tenant) && belongsTo(entry, holder.number);
}

function absentFrom(digests: readonly Digest[], ticks: readonly (number | undefined)[]): Digest[] {
  return digests.filter((_, index) => ticks[index] === undefined);
}

function rawSmall({ generation, size, checksum }: BlobEntry, bytes: Buffer): RawBlob {
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
