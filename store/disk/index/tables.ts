// The tables of the index in LMDB: reading, committing, and naming LMDB's failures.
//
// A change resolves after its commit is on the disk (I2 of index.ts): LMDB runs in its synchronous mode
// (docs/decisions/0010), in which a commit becomes visible and durable at once. LMDB checks conditions inside
// the commit against the version of each value (I3), so no transaction stays open meanwhile.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, open, type RootDatabase } from 'lmdb';
import { AssayError } from '../../../core/errors.ts';
import { mappedBytes } from '../../../system/process/process-memory.ts';
import { STORE } from '../../limits.ts';
import { requireAddressSpace } from '../fs/address-space.ts';
import { faultOf, indexFaultOf } from '../fs/faults.ts';
import { FreeSpace, freeBytes } from '../fs/free-space.ts';
import { type Change, CommitQueue } from './commits.ts';
import { DATA_FILE, refuseUnopenable } from './guard.ts';
import { OtherReaders } from './other-readers.ts';
import { takeReaderSlot } from './reader-slot.ts';
import { SameFileCheck } from './same-file.ts';

export type Table = Database<Buffer, Buffer>;

type Root = RootDatabase<Buffer, Buffer>;

/** Whether the values of a table have a version. */
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
  history: false,
  'action-leases': true,
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
  'history',
  'action-leases',
];

/** Leases are few. A store from before them gets their table with its first lease: a full disk could not take one. */
const COUNTED = TABLE_NAMES.filter((name) => name !== 'action-leases');

interface Opened {
  readonly root: Root;
  readonly tables: Map<TableName, Table>;
}

export class Tables {
  readonly #folder: string;
  readonly #freeSpace: FreeSpace;
  readonly #commits: CommitQueue;
  readonly #sameFile: SameFileCheck;
  readonly #readers = new OtherReaders(() => this.fileBytes());
  /** Undefined after LMDB has failed; the next use opens the index again. */
  #opened: Opened | undefined;
  #isClosing = false;

  /** `commitDelayMs`: how long a commit waits for more writes. */
  constructor(folder: string, commitDelayMs: number) {
    this.#folder = folder;
    this.#freeSpace = new FreeSpace(() => freeBytes(folder));
    this.#commits = new CommitQueue(commitDelayMs, () => this.#closeIfFailed());
    this.#opened = openRoot(folder);
    this.#sameFile = new SameFileCheck(join(folder, DATA_FILE));
  }

  get #current(): Opened {
    if (this.#isClosing)
      throw new AssayError('ASSAY_STORE_FAULT', 'the index is being reopened after a fault; try again');
    this.#opened ??= openRoot(this.#folder);
    return this.#opened;
  }

  /**
   * Do not keep the table: the index may be reopened. A table is opened when first used, because most
   * processes use few.
   */
  table(name: TableName): Table {
    const { root, tables } = this.#current;
    const opened = tables.get(name);
    if (opened) return opened;
    const table = openTable(root, name);
    tables.set(name, table);
    return table;
  }

  /** False if the file was removed or replaced: writes would be lost (I7). */
  get isSameFile(): boolean {
    return this.#sameFile.isSame;
  }

  /** Creates missing tables, once, in a new store. */
  createAll(): void {
    for (const name of TABLE_NAMES) this.table(name);
  }

  /**
   * Reads after this see what other processes have committed. Otherwise LMDB keeps one read view for a while.
   */
  refresh(): void {
    this.#current.root.resetReadTxn();
  }

  /** For a change that needs that much disk space. False if its condition does not hold. */
  commitIfSpace(bytes: number, change: Change): Promise<boolean> {
    return this.#attempt(() => {
      this.#readers.refuseIfPinned();
      return this.#freeSpace.withReserved(bytes, () => this.#commits.add(change));
    });
  }

  commit(change: Change): Promise<boolean> {
    return this.#attempt(() => this.#commits.add(change));
  }

  async #attempt(write: () => Promise<boolean>): Promise<boolean> {
    try {
      this.#sameFile.check();
      this.#readers.check(this.#current.root);
      return await write();
    } catch (error) {
      throw indexFaultOf('writing the index', this.#folder, error);
    }
  }

  /**
   * After LMDB fails to write its header, it refuses every call. The file on the disk is intact, so the index
   * is closed here, and the next use opens it again.
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
   * Unmaps the index if more than that is mapped; the next use maps it again. For commands that read all of
   * it. Nothing else in this process may use the index meanwhile.
   */
  async trim(mostBytes: number = STORE.mappedBytes): Promise<void> {
    if (mappedBytes() <= mostBytes) return;
    await this.#commits.idle();
    if (this.#opened) await this.#closeRoot(this.#opened);
  }

  /** The bytes of the file that are in use. */
  usedBytes(): number {
    let bytes = 0;
    for (const name of COUNTED) bytes += bytesOf(this.table(name));
    return bytes;
  }

  /** The same of one table. */
  usedBytesOf(name: TableName): number {
    return bytesOf(this.table(name));
  }

  /** The whole file. It never shrinks; unused pages are written again. */
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
    // The binding's own batching leaves a rejection that nobody can catch when a commit fails.
    eventTurnBatching: false,
    // A commit begins at the end of the event loop's turn, not after the first writes.
    txnStartThreshold: Number.MAX_SAFE_INTEGER,
    maxReaders: STORE.maxReaders,
    mapSize: STORE.indexMapBytes,
    encoding: 'binary' as const,
    keyEncoding: 'binary' as const,
  };
}

/** The next read overwrites this value. Its `length` is right, its `byteLength` is not. */
export function peek(table: Table, key: Buffer): Buffer | undefined {
  try {
    return table.getBinaryFast(key);
  } catch (cause) {
    throw faultOf('reading the index', cause);
  }
}

/** A copy. */
export function readRow(table: Table, key: Buffer): Buffer | undefined {
  const value = peek(table, key);
  if (!value) return undefined;
  const own = Buffer.allocUnsafe(value.length);
  own.set(value.subarray(0, value.length));
  return own;
}

export interface Row {
  readonly key: Buffer;
  readonly value: Buffer;
  /** Undefined if the table has no versions. */
  readonly version?: number;
}

/** At most `limit` rows before `end`, in reverse order, down to `start`. */
export function rowsBefore(table: Table, end: Buffer, start: Buffer, limit: number): Row[] {
  try {
    const range = table.getRange({ start: end, end: start, limit, reverse: true, versions: true });
    return [...range].map((row) => ({ ...row, key: Buffer.from(row.key), value: Buffer.from(row.value) }));
  } catch (cause) {
    throw faultOf('reading the index', cause);
  }
}

/** At most `limit` rows in key order from `start` up to `end`. `isExclusive`: without `start` itself. */
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
