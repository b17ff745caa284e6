// The action leases of the disk engine: the newest lease of each action, in one table. The version of a row is random,
// and another one after each write. The numbers of fences come from a counter.
//
// The epoch belongs to this index file since this boot of the machine. A copy of a store is another file, so its next
// lease begins a later epoch. A disk that was set back to a snapshot is used again only after a boot.
// Epochs are seconds since 1970, or one more than the last if the clock was set back: two copies of one store that are
// made one after the other do not begin the same epoch.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { getLastVersion } from 'lmdb';
import { type Fence, fenceStep } from '../../../core/action-lease.ts';
import { sha256 } from '../../../core/sha256.ts';
import { bootId } from '../../../system/process/boot-id.ts';
import type {
  LeaseAddress,
  LeaseReading,
  LeaseRecord,
  LeaseRecords,
  UnchangedLease,
} from '../../action-leases.ts';
import { newGeneration } from './generation.ts';
import { DATA_FILE } from './guard.ts';
import { resultKeyOf } from './records.ts';
import { readRow, rowsFrom, type Table, type Tables } from './tables.ts';

/** No lease has this key, because a namespace contains no "!". */
const COUNTER = Buffer.from('!counter');
const FIRST = Buffer.from([0]);
const CHECK_BYTES = 8;

interface Counter extends Fence {
  /** The file and the boot that the epoch belongs to. */
  readonly here: string;
}

export class DiskActionLeases implements LeaseRecords {
  readonly #tables: Tables;
  readonly #folder: string;
  readonly #now: () => number;

  constructor(tables: Tables, folder: string, now: () => number) {
    this.#tables = tables;
    this.#folder = folder;
    this.#now = now;
  }

  async get(addresses: readonly LeaseAddress[]): Promise<LeaseReading> {
    this.#tables.refresh();
    return { now: this.#now(), records: addresses.map((address) => find(this.#tables, address)) };
  }

  async put(
    address: LeaseAddress,
    { version: _, ...record }: LeaseRecord,
    replacing: LeaseRecord | undefined,
  ): Promise<boolean> {
    const key = resultKeyOf(address);
    const value = encode(key, record);
    return this.#tables.commitIfSpace(value.length, () =>
      whileUnchanged(this.#tables, { address, record: replacing }, () =>
        this.#table.put(key, value, newGeneration()),
      ),
    );
  }

  async nextFence(): Promise<Fence> {
    const here = `${bootId()} ${identityOf(join(this.#folder, DATA_FILE))}`;
    for (;;) {
      this.#tables.refresh();
      const record = readRow(this.#table, COUNTER);
      const version = getLastVersion();
      const last = record && decode<Counter>(COUNTER, record);
      const epoch = last?.here === here ? last.epoch : this.#nextEpoch(last);
      const next = { epoch, number: (last?.number ?? 0) + fenceStep(), here };
      const putNext = () => this.#table.put(COUNTER, encode(COUNTER, next), newGeneration());
      const isPut = await this.#tables.commitIfSpace(0, () =>
        record ? this.#table.ifVersion(COUNTER, version, putNext) : this.#table.ifNoExists(COUNTER, putNext),
      );
      if (isPut) return { epoch, number: next.number };
    }
  }

  /** Without a counter, or with a damaged one, the time alone is later than every epoch before. */
  #nextEpoch(last: Counter | undefined): number {
    return Math.max((last?.epoch ?? 0) + 1, Math.floor(this.#now() / 1000));
  }

  async removeBefore(until: number, most: number): Promise<number> {
    this.#tables.refresh();
    let removed = 0;
    let rows = rowsFrom(this.#table, FIRST, undefined);
    for (let last = rows.at(-1); last && removed < most; last = rows.at(-1)) {
      const old = rows.filter(({ key, value }) => {
        const record = decode<LeaseRecord>(key, value);
        return !key.equals(COUNTER) && (record === undefined || record.until < until);
      });
      const gone = await Promise.all(
        old
          .slice(0, most - removed)
          .map(({ key, version = 0 }) => this.#tables.commit(() => this.#table.remove(key, version))),
      );
      removed += gone.filter(Boolean).length;
      rows = rowsFrom(this.#table, last.key, undefined, true);
    }
    return removed;
  }

  get #table(): Table {
    return this.#tables.table('action-leases');
  }
}

/**
 * Writes only if the lease is still the one that was read, in the same transaction. Call it in a change of the tables.
 */
export async function whileUnchanged(
  tables: Tables,
  { address, record }: UnchangedLease,
  write: () => Promise<boolean>,
): Promise<boolean> {
  const key = resultKeyOf(address);
  const stored = findRow(tables, key);
  if (stored?.record?.version !== record?.version) return false;
  let written: Promise<boolean> | undefined;
  const change = () => {
    written = write();
  };
  const table = tables.table('action-leases');
  const isSame = await (stored
    ? table.ifVersion(key, stored.version, change)
    : table.ifNoExists(key, change));
  return isSame && (await written) === true;
}

export function isLeaseUnchanged(tables: Tables, lease: UnchangedLease | undefined): boolean {
  return !lease || find(tables, lease.address)?.version === lease.record?.version;
}

function find(tables: Tables, address: LeaseAddress): LeaseRecord | undefined {
  return findRow(tables, resultKeyOf(address))?.record;
}

/** Without a record if a bit of it has changed: then it counts as absent, and is replaced. */
function findRow(
  tables: Tables,
  key: Buffer,
): { readonly version: number; readonly record: LeaseRecord | undefined } | undefined {
  const value = readRow(tables.table('action-leases'), key);
  if (!value) return undefined;
  const version = getLastVersion();
  const record = decode<LeaseRecord>(key, value);
  return { version, record: record && { ...record, version } };
}

function identityOf(file: string): string {
  const { dev, ino } = statSync(file);
  return `${dev}:${ino}`;
}

/** A checksum of the key and the JSON, and the JSON. */
function encode(key: Buffer, value: object): Buffer {
  const json = Buffer.from(JSON.stringify(value));
  return Buffer.concat([checksum(key, json), json]);
}

/** Undefined if a bit of it or of its key has changed. */
function decode<T extends object>(key: Buffer, record: Buffer): T | undefined {
  const json = record.subarray(CHECK_BYTES);
  if (!checksum(key, json).equals(record.subarray(0, CHECK_BYTES))) return undefined;
  const value: T = JSON.parse(json.toString());
  return value;
}

function checksum(key: Buffer, json: Buffer): Buffer {
  return Buffer.from(sha256(Buffer.concat([key, json])).slice(0, 2 * CHECK_BYTES), 'hex');
}
