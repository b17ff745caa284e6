// LMDB: the tables of the index, how their changes are committed, and what its failures are called.
//
// A promise of a change resolves after the commit is on the disk: LMDB runs in its plain, synchronous mode
// (docs/decisions/0010), in which visible and durable are one moment. Conditions are checked inside the commit, by LMDB,
// against the version that each value carries; no change needs a transaction of ours to be open meanwhile.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, open, type RootDatabase } from 'lmdb';
import { AssayError } from '../../../core/errors.ts';
import { STORE } from '../../limits.ts';
import { faultOf, indexFaultOf } from '../fs/faults.ts';
import { FreeSpace, freeBytes } from '../fs/free-space.ts';
import { mappedBytes, requireAddressSpace } from '../fs/process-memory.ts';
import { type Change, CommitQueue } from './commits.ts';
import { DATA_FILE, refuseUnopenable } from './guard.ts';
import { takeReaderSlot } from './reader-slot.ts';
import { SameFileCheck } from './same-file.ts';

export type Table = Database<Buffer, Buffer>;

type Root = RootDatabase<Buffer, Buffer>;

/** Which values carry a version to compare. */
const TABLES = {
  presence: true,
  content: false,
  results: true,
  uses: true,
  ages: false,
  state: true,
  labels: true,
  order: false,
  uploads: true,
} as const;

export type TableName = keyof typeof TABLES;

const TABLE_NAMES: readonly TableName[] = [
  'presence',
  'content',
  'results',
  'uses',
  'ages',
  'state',
  'labels',
  'order',
  'uploads',
];

interface Opened {
  readonly root: Root;
  readonly tables: Map<TableName, Table>;
}

export class Tables {
  readonly #folder: string;
  readonly #freeSpace: FreeSpace;
  readonly #commits: CommitQueue;
  readonly #sameFile: SameFileCheck;
  /** Undefined after LMDB has given up on what it had open: the next who asks opens it anew. */
  #opened: Opened | undefined;
  #isClosing = false;

  /** `gatherMs`: how long a commit waits for more writes to go with it. */
  constructor(folder: string, commitDelayMs: number) {
    this.#folder = folder;
    this.#freeSpace = new FreeSpace(() => freeBytes(folder));
    this.#commits = new CommitQueue(commitDelayMs, () => this.#closeIfFailed());
    this.#opened = openRoot(folder);
    this.#sameFile = new SameFileCheck(join(folder, DATA_FILE));
  }

  get #current(): Opened {
    if (this.#isClosing) throw new AssayError('ASSAY_STORE_FAULT', 'the index is opened anew after a fault');
    this.#opened ??= openRoot(this.#folder);
    return this.#opened;
  }

  /** For this moment only. Opened when it is first needed: most processes need few of them. */
  table(name: TableName): Table {
    const { root, tables } = this.#current;
    const opened = tables.get(name);
    if (opened) return opened;
    const table = openTable(root, name);
    tables.set(name, table);
    return table;
  }

  /** False when its file was removed or replaced: what is written would be lost. */
  get isSameFile(): boolean {
    return this.#sameFile.isSame;
  }

  /** Makes those that are not there yet: once, when a store begins. */
  createAll(): void {
    for (const name of TABLE_NAMES) this.table(name);
  }

  /** From here on reads see what other processes have committed until now; LMDB else keeps one view for a while. */
  refresh(): void {
    this.#current.root.resetReadTxn();
  }

  /** For what needs that much room. False when the condition of the change did not hold. */
  commitIfSpace(bytes: number, change: Change): Promise<boolean> {
    return this.#attempt(() => this.#freeSpace.withReserved(bytes, () => this.#commits.add(change)));
  }

  commit(change: Change): Promise<boolean> {
    return this.#attempt(() => this.#commits.add(change));
  }

  async #attempt(write: () => Promise<boolean>): Promise<boolean> {
    try {
      this.#sameFile.check();
      return await write();
    } catch (error) {
      throw indexFaultOf('writing the index', this.#folder, error);
    }
  }

  /**
   * After LMDB could not write its header it refuses all that is asked of it, for ever. What is on the disk is whole, so
   * it is closed here and opened anew by the next who needs it.
   */
  async #closeIfFailed(): Promise<void> {
    if (this.#opened && !isUsable(this.#opened)) await this.#closeRoot(this.#opened);
  }

  async #closeRoot(opened: Opened): Promise<void> {
    this.#opened = undefined;
    this.#isClosing = true;
    try {
      await opened.root.close();
    } finally {
      this.#isClosing = false;
    }
  }

  /**
   * Unmaps the index where more than that is mapped; the next who needs it maps it anew. For a command that looks through
   * all of it, while nobody else in this process uses it.
   */
  async trim(mostBytes: number = STORE.mappedBytes): Promise<void> {
    if (mappedBytes() <= mostBytes) return;
    await this.#commits.idle();
    if (this.#opened) await this.#closeRoot(this.#opened);
  }

  /** What is in use of the index's file. */
  usedBytes(): number {
    let bytes = 0;
    for (const name of TABLE_NAMES) bytes += bytesOf(this.table(name));
    return bytes;
  }

  /** The whole file: it never shrinks, but what is not in use is written again. */
  fileBytes(): number {
    return statSync(join(this.#folder, DATA_FILE), { throwIfNoEntry: false })?.size ?? 0;
  }

  async close(): Promise<void> {
    await this.#commits.idle();
    await this.#opened?.root.close();
  }
}

function openRoot(folder: string): Opened {
  try {
    refuseUnopenable(folder);
    requireAddressSpace(STORE.indexMapBytes);
    const root = open<Buffer, Buffer>(optionsFor(folder));
    takeSlotOrClose(root, folder);
    return { root, tables: new Map([['presence', openTable(root, 'presence')]]) };
  } catch (cause) {
    throw faultOf(`opening the index ${folder}`, cause);
  }
}

function takeSlotOrClose(root: Root, folder: string): void {
  try {
    takeReaderSlot(root, folder);
  } catch (error) {
    root.close().catch(() => {});
    throw error;
  }
}

function openTable(root: Root, name: TableName): Table {
  return root.openDB<Buffer, Buffer>(name, {
    encoding: 'binary',
    keyEncoding: 'binary',
    useVersions: TABLES[name],
  });
}

function bytesOf(table: Table): number {
  const stats: unknown = table.getStats();
  const pages = PAGE_COUNTS.reduce((sum, name) => sum + numberIn(stats, name), 0);
  return pages * numberIn(stats, 'pageSize');
}

const PAGE_COUNTS = ['treeBranchPageCount', 'treeLeafPageCount', 'overflowPages'];

function numberIn(stats: unknown, name: string): number {
  const value: unknown = Object(stats)[name];
  return typeof value === 'number' ? value : 0;
}

function isUsable({ root, tables }: Opened): boolean {
  try {
    root.resetReadTxn();
    tables.get('presence')?.getBinaryFast(Buffer.alloc(1));
    return true;
  } catch {
    return false;
  }
}

function optionsFor(path: string) {
  return {
    path,
    overlappingSync: false,
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

/** The value in memory that the next read overwrites; its `length` is right, its `byteLength` is not. */
export function peek(table: Table, key: Buffer): Buffer | undefined {
  try {
    return table.getBinaryFast(key);
  } catch (cause) {
    throw faultOf('reading the index', cause);
  }
}

/** In memory of its own. */
export function read(table: Table, key: Buffer): Buffer | undefined {
  const value = peek(table, key);
  if (!value) return undefined;
  const own = Buffer.allocUnsafe(value.length);
  own.set(value.subarray(0, value.length));
  return own;
}

export interface Row {
  readonly key: Buffer;
  readonly value: Buffer;
  /** Where the table has versions. */
  readonly version?: number;
}

/** The same backwards, from the last one below `end` on. */
export function rowsBefore(table: Table, end: Buffer, start: Buffer, limit: number): Row[] {
  try {
    const range = table.getRange({ start: end, end: start, limit, reverse: true, versions: true });
    return [...range].map((row) => ({ ...row, key: Buffer.from(row.key), value: Buffer.from(row.value) }));
  } catch (cause) {
    throw faultOf('reading the index', cause);
  }
}

/** At most `limit` in the order of their keys, from `start` on, or behind it, up to `end`. */
export function rowsFrom(
  table: Table,
  start: Buffer,
  end: Buffer | undefined,
  isExclusive = false,
  limit: number = STORE.rangeEntries,
): Row[] {
  try {
    const range = table.getRange({
      start,
      ...(end && { end }),
      limit,
      exclusiveStart: isExclusive,
      versions: true,
    });
    return [...range].map((row) => ({ ...row, key: Buffer.from(row.key), value: Buffer.from(row.value) }));
  } catch (cause) {
    throw faultOf('reading the index', cause);
  }
}
