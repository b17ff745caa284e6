// The index: the only truth about what is present. One commit for all that is written in one turn of the event loop,
// several processes at once.
//
// Every entry carries a number that changes with each write of it and that LMDB compares atomically, so a removal or
// replacement meant for an entry as it was seen never hits a newer one, nor one that was used since.
import { getLastVersion } from 'lmdb';
import { BinaryDigest, type Digest, type Hash } from '../../../core/digest.ts';
import { STORE } from '../../limits.ts';
import type { ResultAddress } from '../../store.ts';
import type { Usage } from '../space/space.ts';
import { allocatedBytes, ByteCount } from './byte-count.ts';
import { newGeneration } from './generation.ts';
import type { Stamp } from './logical-clock.ts';
import {
  ageKeyOf,
  BLOB_AGE,
  contentKeyOf,
  decodePresence,
  encodePresence,
  type Presence,
  RESULT_AGE,
  resultKeyOf,
  tickIn,
} from './records.ts';
import { peek, read, type Table, Tables } from './tables.ts';

export interface Entry extends Presence {
  /** Compared when the entry is changed. */
  readonly version: number;
}

/** What is known of a blob before it has its place. */
export type NewPresence = Omit<Presence, 'tick' | 'position'>;

export interface ResultEntry {
  readonly record: Buffer;
  readonly generation: number;
}

/** The row of an age says what it is about; its value has nothing to add. */
const EMPTY_VALUE = Buffer.alloc(1);

export class Index {
  readonly tables: Tables;
  readonly byteCount: ByteCount;

  static open(folder: string, commitDelayMs = 0): Index {
    return new Index(new Tables(folder, commitDelayMs));
  }

  private constructor(tables: Tables) {
    this.tables = tables;
    this.byteCount = new ByteCount(tables);
  }

  /** What is there, in a few bytes each: `missing` looks at thousands of these and must not copy content. */
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

  /** The ticks of results; their versions are the ticks too. */
  get #uses(): Table {
    return this.tables.table('uses');
  }

  /** A row for each entry at its tick or an earlier one: the oldest are found here, and then looked at. */
  get #ages(): Table {
    return this.tables.table('ages');
  }

  refresh(): void {
    this.tables.refresh();
  }

  /** What it takes itself, and all the files that it knows of. */
  usage(): Usage {
    this.refresh();
    const used = this.tables.usedBytes();
    return {
      index: used + used / STORE.indexSlack,
      indexFile: this.tables.fileBytes(),
      files: this.byteCount.bytes(),
    };
  }

  find(hash: Hash): Entry | undefined {
    return this.findByKey(keyOf(hash));
  }

  findByKey(key: Buffer): Entry | undefined {
    const record = peek(this.#presence, key);
    if (!record) return undefined;
    const version = getLastVersion();
    const { size, isFile, tick, generation, position, checksum } = decodePresence(record, version);
    return { size, isFile, tick, generation, position, checksum, version };
  }

  /** Of each in its turn; undefined unless it is there with that size. Builds ask about thousands at a time. */
  ticksOf(digests: readonly Digest[]): (number | undefined)[] {
    const presence = this.#presence;
    return digests.map((digest) => {
      const record = peek(presence, keyOfDigest(digest));
      return record && tickIn(record, digest.size);
    });
  }

  contentOf(hash: Hash, { position }: Presence): Buffer | undefined {
    return read(this.#content, contentKeyOf(keyOf(hash), position));
  }

  /** False if it is there already. `content` must not change before this settles. */
  add(hash: Hash, added: NewPresence, content: Buffer, stamp: Stamp): Promise<boolean> {
    return this.tables.commitIfSpace(content.length, () => {
      stamp.begin();
      const key = keyOf(hash);
      const presence = { ...added, tick: stamp.tick, position: positionNow() };
      return this.#presence.ifNoExists(key, () => {
        this.#presence.put(key, encodePresence(presence), presence.generation);
        this.#content.put(contentKeyOf(key, presence.position), content);
        this.#countBlob(key, presence);
      });
    });
  }

  #countBlob(key: Buffer, { isFile, size, tick, position }: Presence): void {
    this.#ages.put(ageKeyOf(BLOB_AGE, tick, contentKeyOf(key, position)), EMPTY_VALUE);
    if (isFile) this.byteCount.add(allocatedBytes(size));
  }

  /** Stamps an entry as it was seen; false if it is gone, or was stamped by another. */
  stampBlob(hash: Hash, entry: Entry, stamp: Stamp): Promise<boolean> {
    return this.tables.commit(() => {
      stamp.begin();
      const key = keyOf(hash);
      return this.#presence.ifVersion(key, entry.version, () => {
        const used = { ...entry, tick: stamp.tick };
        this.#presence.put(key, encodePresence(used), newGeneration());
        if (!isCounted(entry)) this.#countBlob(key, used);
      });
    });
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

  /** False if it is gone already, or was used since. */
  removeIfUnchanged(key: Buffer, entry: Entry): Promise<boolean> {
    const contentKey = contentKeyOf(key, entry.position);
    return this.tables.commit(() =>
      this.#presence.ifVersion(key, entry.version, () => {
        this.#presence.remove(key);
        this.#content.remove(contentKey);
        this.#ages.remove(ageKeyOf(BLOB_AGE, entry.tick, contentKey));
        if (entry.isFile && isCounted(entry)) this.byteCount.add(-allocatedBytes(entry.size));
      }),
    );
  }

  result(address: ResultAddress): ResultEntry | undefined {
    const record = read(this.#results, resultKeyOf(address));
    return record && { record, generation: getLastVersion() };
  }

  hasResult(key: Buffer): boolean {
    return peek(this.#results, key) !== undefined;
  }

  /** 0 for one that has none. */
  resultTick(key: Buffer): number {
    return peek(this.#uses, key) ? getLastVersion() : 0;
  }

  /** Puts the record in place of that generation, or where there is none. False if something else is there. */
  replaceResult(
    address: ResultAddress,
    record: Buffer,
    replacing: number | undefined,
    tick: number,
  ): Promise<boolean> {
    const key = resultKeyOf(address);
    const change = () => {
      this.#results.put(key, record, newGeneration());
      this.#putResultTick(key, tick);
    };
    return this.tables.commitIfSpace(record.length, () =>
      replacing === undefined
        ? this.#results.ifNoExists(key, change)
        : this.#results.ifVersion(key, replacing, change),
    );
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

  removeResult(address: ResultAddress, generation: number): Promise<boolean> {
    const key = resultKeyOf(address);
    return this.tables.commit(() =>
      this.#results.ifVersion(key, generation, () => {
        this.#results.remove(key);
        this.#uses.remove(key);
      }),
    );
  }

  /** False if it was used since. */
  removeResultIfUnused(key: Buffer, tick: number): Promise<boolean> {
    return this.tables.commit(() =>
      this.#uses.ifVersion(key, tick, () => {
        this.#results.remove(key);
        this.#uses.remove(key);
        this.#ages.remove(ageKeyOf(RESULT_AGE, tick, key));
      }),
    );
  }

  close(): Promise<void> {
    return this.tables.close();
  }
}

/** Records of version 1 have no tick, no row among the ages, and are in no sum. */
export function isCounted({ tick }: Presence): boolean {
  return tick > 0;
}

/** Nothing but speed depends on it, so any clock will do. */
function positionNow(): number {
  return Math.max(1, Date.now());
}

/** LMDB takes a copy of a key at once, so one piece of memory serves all that are used in the turn that made them. */
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
