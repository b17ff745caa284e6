// The index: which blobs and results are present, and when each was last used. Several processes use it at
// once.
//
// Invariants:
// I1 A blob is present if and only if `presence` has its row. Its rows in `content`, `ages` and the byte
//    count are written in the same commit, and removed in the same commit (an age row may be removed later,
//    E3).
// I2 Present means durable: a commit resolves when it is on the disk, and the entry of a file is committed
//    after the file and its name are synced.
// I3 Every write of an entry gives it a new version. A change applies only if the entry still has the version
//    that was read, and LMDB compares it inside the commit. So no change hits a newer entry.
// I4 A generation is never used twice, and a file is never replaced. So removing a file can't remove a newer
//    one.
// I5 One commit at a time: a process begins a commit only after its previous one ended and was repaired
//    (commits.ts).
// I6 The byte count is the sum of the allocated bytes of all files with an entry.
// I7 A process whose `data.mdb` was removed or replaced commits nothing more (same-file.ts).
//
// Entries that format version 1 wrote have no age row and no byte count until reconciliation.ts stamps them.
//
//           add: file synced, then commit         stampBlob: new tick, more tenants, new version
//  ABSENT ───────────────────────────────> PRESENT ──────────────┐
//    ^                                      │    ^───────────────┘
//    └──────────────────────────────────────┘
//      removeIfUnchanged(version): evicted or quarantined; then its file is removed
import { getLastVersion } from 'lmdb';
import { BinaryDigest, type Digest, type Hash } from '../../../core/digest.ts';
import { STORE } from '../../limits.ts';
import type { LabelAddress, ResultAddress } from '../../store.ts';
import { allocatedBytes, ByteCount, type Usage } from './byte-count.ts';
import { newGeneration } from './generation.ts';
import type { Stamp } from './logical-clock.ts';
import {
  ageKeyOf,
  BLOB_AGE,
  contentKeyOf,
  decodePresence,
  EVERYONE,
  encodePresence,
  NO_TENANTS,
  type Presence,
  RESULT_AGE,
  resultKeyOf,
  type Tenants,
  tickIn,
} from './records.ts';
import { peek, readRow, type Table, Tables } from './tables.ts';
import { TenantNumbers } from './tenants.ts';

export interface BlobEntry extends Presence {
  /** Compared when the entry is changed (I3). */
  readonly version: number;
}

/** Called for each change of what a tenant or a holder has, after its commit. */
export interface HoldingsListener {
  blobChanged(key: Buffer, before: Tenants, after: Tenants, entry: Pick<Presence, 'size' | 'isFile'>): void;
  /** `bytes` is negative if the record became shorter, or was removed. */
  resultChanged(key: Buffer, bytes: number): void;
  /** `bytes` is negative if it was removed. */
  labelChanged(address: LabelAddress, bytes: number): void;
}

/** A blob's presence without the fields that `add` sets. */
type NewPresence = Omit<Presence, 'tick' | 'position'>;

interface ResultEntry {
  readonly record: Buffer;
  readonly generation: number;
}

/** The value of an age row: its key says everything. */
const EMPTY_VALUE = Buffer.alloc(1);

export class Index {
  readonly tables: Tables;
  readonly byteCount: ByteCount;
  readonly tenants: TenantNumbers;
  /** Undefined while nobody counts: then a change costs nothing more. */
  listener: HoldingsListener | undefined;

  static open(folder: string, commitDelayMs = 0): Index {
    return new Index(new Tables(folder, commitDelayMs));
  }

  private constructor(tables: Tables) {
    this.tables = tables;
    this.byteCount = new ByteCount(tables);
    this.tenants = new TenantNumbers(tables);
  }

  /** A few bytes for each blob: `missing` reads thousands of rows and must not read content. */
  get #presence(): Table {
    return this.tables.table('presence');
  }

  /** The bytes of a small blob, the checksums of a large one. */
  get #content(): Table {
    return this.tables.table('content');
  }

  get #results(): Table {
    return this.tables.table('results');
  }

  /** The tick of each result, as the version of its row. */
  get #uses(): Table {
    return this.tables.table('uses');
  }

  /** For each entry a row at its tick or an earlier one (E3). The first rows are the least recently used. */
  get #ages(): Table {
    return this.tables.table('ages');
  }

  refresh(): void {
    this.tables.refresh();
  }

  /** The bytes of the index and of all blob files. */
  usage(): Usage {
    this.refresh();
    const used = this.tables.usedBytes();
    return {
      index: used + used / STORE.indexSlack,
      indexFile: this.tables.fileBytes(),
      files: this.byteCount.bytes(),
    };
  }

  find(hash: Hash): BlobEntry | undefined {
    return this.findByKey(keyOf(hash));
  }

  findByKey(key: Buffer): BlobEntry | undefined {
    const record = peek(this.#presence, key);
    if (!record) return undefined;
    const version = getLastVersion();
    const { size, isFile, tick, generation, position, checksum, tenants } = decodePresence(record, version);
    return { size, isFile, tick, generation, position, checksum, tenants, version };
  }

  /**
   * For each digest in order; undefined if it is absent for the tenant or the holder, or has another size. Builds
   * ask for thousands at once.
   */
  ticksOf(digests: readonly Digest[], tenant: number, holder = EVERYONE): (number | undefined)[] {
    const presence = this.#presence;
    return digests.map((digest) => {
      const record = peek(presence, keyOfDigest(digest));
      return record && tickIn(record, digest.size, tenant, holder);
    });
  }

  contentOf(hash: Hash, { position }: Presence): Buffer | undefined {
    return readRow(this.#content, contentKeyOf(keyOf(hash), position));
  }

  /** Writes and changes nothing: for the health check. */
  async probe(): Promise<void> {
    await this.tables.commitIfSpace(0, () => this.byteCount.add(0));
  }

  /** False if the blob is present already. `content` must not change before this resolves. */
  async add(hash: Hash, added: NewPresence, content: Buffer, stamp: Stamp): Promise<boolean> {
    const isAdded = await this.tables.commitIfSpace(content.length, () => {
      stamp.begin();
      const key = keyOf(hash);
      const presence = { ...added, tick: stamp.tick, position: positionNow() };
      return this.#presence.ifNoExists(key, () => {
        this.#presence.put(key, encodePresence(presence), presence.generation);
        this.#content.put(contentKeyOf(key, presence.position), content);
        this.#countBlob(key, presence);
      });
    });
    if (isAdded) this.listener?.blobChanged(keyOf(hash), NO_TENANTS, added.tenants, added);
    return isAdded;
  }

  #countBlob(key: Buffer, { isFile, size, tick, position }: Presence): void {
    this.#ages.put(ageKeyOf(BLOB_AGE, tick, contentKeyOf(key, position)), EMPTY_VALUE);
    if (isFile) this.byteCount.add(allocatedBytes(size));
  }

  /**
   * Writes the stamp's tick, and those that have the blob now. False if the entry has changed or is gone (I3).
   */
  async stampBlob(hash: Hash, entry: BlobEntry, stamp: Stamp, tenants = entry.tenants): Promise<boolean> {
    const isStamped = await this.tables.commit(() => {
      stamp.begin();
      const key = keyOf(hash);
      return this.#presence.ifVersion(key, entry.version, () => {
        const used = { ...entry, tick: stamp.tick, tenants };
        this.#presence.put(key, encodePresence(used), newGeneration());
        if (!isCounted(entry)) this.#countBlob(key, used);
      });
    });
    if (isStamped && tenants !== entry.tenants)
      this.listener?.blobChanged(keyOf(hash), entry.tenants, tenants, entry);
    return isStamped;
  }

  /** Writes only who has the blob: its tick stays. False if the entry has changed or is gone (I3). */
  async changeTenants(key: Buffer, entry: BlobEntry, tenants: Tenants): Promise<boolean> {
    const isChanged = await this.tables.commit(() =>
      this.#presence.ifVersion(key, entry.version, () => {
        this.#presence.put(key, encodePresence({ ...entry, tenants }), newGeneration());
      }),
    );
    if (isChanged) this.listener?.blobChanged(key, entry.tenants, tenants, entry);
    return isChanged;
  }

  /** False if that generation is gone already. */
  async remove(hash: Hash, generation: number): Promise<boolean> {
    const key = Buffer.from(hash, 'hex');
    for (;;) {
      this.refresh();
      const entry = this.findByKey(key);
      if (entry?.generation !== generation) return false;
      if (await this.removeIfUnchanged(key, entry)) return true;
    }
  }

  /** False if the entry has changed or is gone (I3). */
  async removeIfUnchanged(key: Buffer, entry: BlobEntry): Promise<boolean> {
    const contentKey = contentKeyOf(key, entry.position);
    const isRemoved = await this.tables.commit(() =>
      this.#presence.ifVersion(key, entry.version, () => {
        this.#presence.remove(key);
        this.#content.remove(contentKey);
        this.#ages.remove(ageKeyOf(BLOB_AGE, entry.tick, contentKey));
        if (entry.isFile && isCounted(entry)) this.byteCount.add(-allocatedBytes(entry.size));
      }),
    );
    if (isRemoved) this.listener?.blobChanged(key, entry.tenants, NO_TENANTS, entry);
    return isRemoved;
  }

  result(key: Buffer): ResultEntry | undefined {
    const record = readRow(this.#results, key);
    return record && { record, generation: getLastVersion() };
  }

  /** 0 if there is none. */
  resultTick(key: Buffer): number {
    return peek(this.#uses, key) ? getLastVersion() : 0;
  }

  /**
   * Replaces the record of that generation, or adds one if `replacing` is undefined. False if another one is
   * stored.
   */
  async replaceResult(
    key: Buffer,
    record: Buffer,
    replacing: number | undefined,
    tick: number,
  ): Promise<boolean> {
    const before = replacing === undefined ? 0 : this.#lengthIfCounted(key);
    const change = () => {
      this.#results.put(key, record, newGeneration());
      this.#putResultTick(key, tick);
    };
    const isReplaced = await this.tables.commitIfSpace(record.length, () =>
      replacing === undefined
        ? this.#results.ifNoExists(key, change)
        : this.#results.ifVersion(key, replacing, change),
    );
    if (isReplaced) this.listener?.resultChanged(key, record.length - before);
    return isReplaced;
  }

  /** Of a result's record. 0 while nobody counts. */
  #lengthIfCounted(key: Buffer): number {
    return this.listener ? this.resultBytes(key) : 0;
  }

  #putResultTick(key: Buffer, tick: number): void {
    this.#uses.put(key, EMPTY_VALUE, tick);
    this.#ages.put(ageKeyOf(RESULT_AGE, tick, key), EMPTY_VALUE);
  }

  /** False if that generation is gone. */
  stampResult(key: Buffer, generation: number, tick: number): Promise<boolean> {
    return this.tables.commit(() =>
      this.#results.ifVersion(key, generation, () => {
        this.#putResultTick(key, tick);
      }),
    );
  }

  async removeResult(address: ResultAddress, generation: number): Promise<boolean> {
    const key = resultKeyOf(address);
    const length = this.#lengthIfCounted(key);
    const isRemoved = await this.tables.commit(() =>
      this.#results.ifVersion(key, generation, () => {
        this.#results.remove(key);
        this.#uses.remove(key);
      }),
    );
    if (isRemoved) this.listener?.resultChanged(key, -length);
    return isRemoved;
  }

  /** False if the result was used since (I3). */
  async removeResultIfUnused(key: Buffer, tick: number): Promise<boolean> {
    const length = this.#lengthIfCounted(key);
    const isRemoved = await this.tables.commit(() =>
      this.#uses.ifVersion(key, tick, () => {
        this.#results.remove(key);
        this.#uses.remove(key);
        this.#ages.remove(ageKeyOf(RESULT_AGE, tick, key));
      }),
    );
    if (isRemoved) this.listener?.resultChanged(key, -length);
    return isRemoved;
  }

  /** Of a result's record. 0 if there is none. */
  resultBytes(key: Buffer): number {
    return peek(this.#results, key)?.length ?? 0;
  }

  close(): Promise<void> {
    return this.tables.close();
  }
}

/** Entries of format version 1 have no tick and no age row, and are not in the byte count. */
export function isCounted({ tick }: Presence): boolean {
  return tick > 0;
}

/** Affects only the order of the content rows, so the wall clock will do. */
function positionNow(): number {
  return Math.max(1, Date.now());
}

/** LMDB copies a key synchronously, so one buffer serves all keys. */
const scratchKey = Buffer.alloc(32);

function keyOf(hash: Hash): Buffer {
  scratchKey.write(hash, 'hex');
  return scratchKey;
}

function keyOfDigest(digest: Digest): Buffer {
  if (!(digest instanceof BinaryDigest)) return keyOf(digest.hash);
  digest.copyHash(scratchKey);
  return scratchKey;
}
