// The index: the only truth about what is present. LMDB, one commit for all that is written in one turn of the event
// loop, several processes at once.
//
// A promise of a change resolves after the commit is on the disk: LMDB runs in its plain, synchronous mode
// (docs/decisions/0010), in which visible and durable are one moment. Each entry carries a generation, a random number
// that LMDB compares atomically, so a removal or replacement meant for one entry never hits a newer one.
import { type Database, getLastVersion, open, type RootDatabase } from 'lmdb';
import type { Hash } from '../../core/digest.ts';
import { AssayError } from '../../core/errors.ts';
import { STORE } from '../../core/limits.ts';
import { nodeCrypto } from '../../core/sha256.ts';
import type { ResultAddress } from '../store.ts';
import { faultOf, indexFaultOf } from './faults.ts';
import { refuseUnopenable } from './guard.ts';
import { decodePresence, encodePresence, type Presence, resultKeyOf } from './record.ts';
import { freeBytes, Room } from './room.ts';

type Table = Database<Buffer, Buffer>;

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

interface Tables {
  readonly root: RootDatabase<Buffer, Buffer>;
  /** What is there, in a few bytes each: `missing` looks at thousands of these and must not copy content. */
  readonly presence: Table;
  /** The bytes of a small blob, the checksums of a large one. */
  readonly content: Table;
  readonly results: Table;
}

export class Index {
  readonly #folder: string;
  readonly #gatherMs: number;
  /** Undefined after LMDB has given up on what it had open: the next who asks opens it anew. */
  #opened: Tables | undefined;
  #isLettingGo = false;
  readonly #room: Room;

  /** `gatherMs`: how long a commit waits for more writes to go with it. */
  static open(folder: string, gatherMs = 0): Index {
    return new Index(folder, gatherMs);
  }

  private constructor(folder: string, gatherMs: number) {
    this.#folder = folder;
    this.#gatherMs = gatherMs;
    this.#room = new Room(() => freeBytes(folder));
    this.#opened = openTables(folder, gatherMs);
  }

  get #tables(): Tables {
    if (this.#isLettingGo)
      throw new AssayError('ASSAY_STORE_FAULT', 'the index is opened anew after a fault');
    this.#opened ??= openTables(this.#folder, this.#gatherMs);
    return this.#opened;
  }

  /** From here on reads see what other processes have committed until now; LMDB else keeps one view for a while. */
  refresh(): void {
    this.#tables.root.resetReadTxn();
  }

  find(hash: Hash): Entry | undefined {
    const record = peek(this.#tables.presence, keyOf(hash));
    return record && { ...decodePresence(record), generation: getLastVersion() };
  }

  contentOf(hash: Hash): Buffer | undefined {
    return copy(peek(this.#tables.content, keyOf(hash)));
  }

  /** False if it is there already. `content` must not change before this settles. */
  add(hash: Hash, { generation, ...presence }: Entry, content: Buffer): Promise<boolean> {
    return this.#commitIfRoom(content.length, () => {
      const key = keyOf(hash);
      return this.#tables.presence.ifNoExists(key, () => {
        this.#tables.presence.put(key, encodePresence(presence), generation);
        this.#tables.content.put(key, content);
      });
    });
  }

  /** False if that generation is gone already. */
  remove(hash: Hash, generation: number): Promise<boolean> {
    return this.#commit(() => {
      const key = keyOf(hash);
      return this.#tables.presence.ifVersion(key, generation, () => {
        this.#tables.presence.remove(key);
        this.#tables.content.remove(key);
      });
    });
  }

  result(address: ResultAddress): ResultEntry | undefined {
    const record = copy(peek(this.#tables.results, resultKeyOf(address)));
    return record && { record, generation: getLastVersion() };
  }

  /** Puts the record in place of that generation, or where there is none. False if something else is there. */
  replaceResult(address: ResultAddress, record: Buffer, replacing: number | undefined): Promise<boolean> {
    const key = resultKeyOf(address);
    const generation = newGeneration();
    return this.#commitIfRoom(record.length, () =>
      replacing === undefined
        ? this.#tables.results.ifNoExists(key, () => this.#tables.results.put(key, record, generation))
        : this.#tables.results.put(key, record, generation, replacing),
    );
  }

  removeResult(address: ResultAddress, generation: number): Promise<boolean> {
    return this.#commit(() => this.#tables.results.remove(resultKeyOf(address), generation));
  }

  #commitIfRoom(bytes: number, change: () => Promise<boolean>): Promise<boolean> {
    return this.#room.during(bytes, () => this.#commit(change));
  }

  async #commit(change: () => Promise<boolean>): Promise<boolean> {
    try {
      return await change();
    } catch (error) {
      const fault = indexFaultOf('writing the index', this.#folder, await reasonOf(error));
      await this.#letGoIfGivenUp();
      throw fault;
    }
  }

  /**
   * After LMDB could not write its header it refuses all that is asked of it, for ever. What is on the disk is whole, so
   * it is closed here and opened anew by the next who needs it.
   */
  async #letGoIfGivenUp(): Promise<void> {
    const { root, presence } = this.#opened ?? {};
    if (!root || !presence || isAnswering(root, presence)) return;
    this.#opened = undefined;
    this.#isLettingGo = true;
    try {
      await root.close();
    } finally {
      this.#isLettingGo = false;
    }
  }

  async close(): Promise<void> {
    await this.#opened?.root.close();
  }
}

function openTables(folder: string, gatherMs: number): Tables {
  try {
    refuseUnopenable(folder);
    const root = open<Buffer, Buffer>(optionsFor(folder, gatherMs));
    const table = (name: string, useVersions: boolean): Table =>
      root.openDB<Buffer, Buffer>(name, { encoding: 'binary', keyEncoding: 'binary', useVersions });
    return {
      root,
      presence: table('presence', true),
      content: table('content', false),
      results: table('results', true),
    };
  } catch (cause) {
    throw faultOf(`opening the index ${folder}`, cause);
  }
}

function isAnswering(root: Tables['root'], table: Table): boolean {
  try {
    root.resetReadTxn();
    table.getBinaryFast(Buffer.alloc(1));
    return true;
  } catch {
    return false;
  }
}

function optionsFor(path: string, gatherMs: number) {
  return {
    path,
    overlappingSync: false,
    commitDelay: gatherMs,
    // Its own way of batching leaves a promise behind that nobody can catch when a commit fails.
    eventTurnBatching: false,
    // Instead a commit begins at the end of a turn, not after the first few writes of it.
    txnStartThreshold: Number.MAX_SAFE_INTEGER,
    maxReaders: STORE.maxReaders,
    mapSize: STORE.indexMapBytes,
    encoding: 'binary' as const,
    keyEncoding: 'binary' as const,
  };
}

/** LMDB takes a copy of a key at once, so one piece of memory serves them all. */
const scratchKey = Buffer.alloc(32);

function keyOf(hash: Hash): Buffer {
  scratchKey.write(hash, 'hex');
  return scratchKey;
}

/** The value in memory that the next read overwrites; its `length` is right, its `byteLength` is not. */
function peek(table: Table, key: Buffer): Buffer | undefined {
  try {
    return table.getBinaryFast(key);
  } catch (cause) {
    throw faultOf('reading the index', cause);
  }
}

function copy(value: Buffer | undefined): Buffer | undefined {
  if (!value) return undefined;
  const own = Buffer.allocUnsafe(value.length);
  own.set(value.subarray(0, value.length));
  return own;
}

/** LMDB tells why a commit failed in a promise of its own. */
async function reasonOf(error: unknown): Promise<unknown> {
  if (!(error instanceof Error && 'commitError' in error)) return error;
  try {
    return await error.commitError;
  } catch (reason) {
    return reason;
  }
}
