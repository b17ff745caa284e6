// The index: the only truth about what is present. One commit for all that is written in one turn of the event loop,
// several processes at once.
//
// Each entry carries a generation, a random number that LMDB compares atomically, so a removal or replacement meant for
// one entry never hits a newer one.
import { getLastVersion } from 'lmdb';
import type { Hash } from '../../core/digest.ts';
import { nodeCrypto } from '../../core/sha256.ts';
import type { ResultAddress } from '../store.ts';
import { decodePresence, encodePresence, type Presence, resultKeyOf } from './record.ts';
import { peek, read, type Table, Tables } from './tables.ts';

export interface Entry extends Presence {
  readonly generation: number;
}

export interface ResultEntry {
  readonly record: Buffer;
  readonly generation: number;
}

const GENERATIONS = 2 ** 47;

export function newGeneration(): number {
  return nodeCrypto().randomInt(1, GENERATIONS);
}

/** What a flipped bit makes of one need not be a number that ever was one. */
export function isGeneration(number: number): boolean {
  return Number.isSafeInteger(number) && number > 0 && number < GENERATIONS;
}

export class Index {
  readonly tables: Tables;

  static open(folder: string, gatherMs = 0): Index {
    return new Index(new Tables(folder, gatherMs));
  }

  private constructor(tables: Tables) {
    this.tables = tables;
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

  refresh(): void {
    this.tables.refresh();
  }

  find(hash: Hash): Entry | undefined {
    const record = peek(this.#presence, keyOf(hash));
    return record && { ...decodePresence(record), generation: getLastVersion() };
  }

  contentOf(hash: Hash): Buffer | undefined {
    return read(this.#content, keyOf(hash));
  }

  /** False if it is there already. `content` must not change before this settles. */
  add(hash: Hash, { generation, ...presence }: Entry, content: Buffer): Promise<boolean> {
    return this.tables.commitIfRoom(content.length, () => {
      const key = keyOf(hash);
      return this.#presence.ifNoExists(key, () => {
        this.#presence.put(key, encodePresence(presence), generation);
        this.#content.put(key, content);
      });
    });
  }

  /** False if that generation is gone already. */
  remove(hash: Hash, generation: number): Promise<boolean> {
    return this.tables.commit(() => {
      const key = keyOf(hash);
      return this.#presence.ifVersion(key, generation, () => {
        this.#presence.remove(key);
        this.#content.remove(key);
      });
    });
  }

  result(address: ResultAddress): ResultEntry | undefined {
    const record = read(this.#results, resultKeyOf(address));
    return record && { record, generation: getLastVersion() };
  }

  /** Puts the record in place of that generation, or where there is none. False if something else is there. */
  replaceResult(address: ResultAddress, record: Buffer, replacing: number | undefined): Promise<boolean> {
    const key = resultKeyOf(address);
    const generation = newGeneration();
    return this.tables.commitIfRoom(record.length, () =>
      replacing === undefined
        ? this.#results.ifNoExists(key, () => this.#results.put(key, record, generation))
        : this.#results.put(key, record, generation, replacing),
    );
  }

  removeResult(address: ResultAddress, generation: number): Promise<boolean> {
    return this.tables.commit(() => this.#results.remove(resultKeyOf(address), generation));
  }

  close(): Promise<void> {
    return this.tables.close();
  }
}

/** LMDB takes a copy of a key at once, so one piece of memory serves them all. */
const scratchKey = Buffer.alloc(32);

function keyOf(hash: Hash): Buffer {
  scratchKey.write(hash, 'hex');
  return scratchKey;
}
