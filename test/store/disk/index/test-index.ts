// An index in a folder of its own, with a logical clock whose time the test sets.
import { mkdirSync } from 'node:fs';
import { afterEach } from 'vitest';
import { digestOf, type Hash } from '../../../../core/digest.ts';
import { type Layout, layoutIn } from '../../../../store/disk/fs/layout.ts';
import { newGeneration } from '../../../../store/disk/index/generation.ts';
import { Index } from '../../../../store/disk/index/index.ts';
import { Leases } from '../../../../store/disk/index/leases.ts';
import { LogicalClock, type Stamp } from '../../../../store/disk/index/logical-clock.ts';
import { tenantsOf } from '../../../../store/disk/index/records.ts';
import type { TableName } from '../../../../store/disk/index/tables.ts';
import type { StoreEvent } from '../../../../store/events.ts';
import { STORE } from '../../../../store/limits.ts';
import { contentOf } from '../../content.ts';
import { makeFolder, removeFolder } from '../../folders.ts';

export const LEASE = 1_024_000;
export const TICK = LEASE / STORE.leaseTicks;
export const WINDOW = LEASE / STORE.leaseWindows;
/** No lease of a blob is valid this long after its tick began. */
export const EXPIRED = LEASE + WINDOW + STORE.tickSlackMs;

export class TestIndex {
  name = 'first boot';
  time = 5_000_000;
  readonly folder = makeFolder();
  readonly layout: Layout = layoutIn(this.folder);
  readonly index = openIn(this.layout.index);
  readonly events: StoreEvent[] = [];
  readonly clock = this.newClock();
  readonly leases = new Leases(this.index, this.clock, (event) => this.events.push(event));

  /** As another process has it. */
  newClock(): LogicalClock {
    const uptime = { name: this.name, now: () => this.time };
    return new LogicalClock(this.index.tables, uptime, LEASE);
  }

  async add(text: string, isFile = false, stamp: Stamp = this.clock.stamp()): Promise<Hash> {
    const content = contentOf(text, 100);
    const { hash, size } = digestOf(content);
    const presence = { size, isFile, generation: newGeneration(), checksum: undefined, tenants: tenantsOf() };
    await this.index.add(hash, presence, content, stamp);
    return hash;
  }

  entry(hash: Hash) {
    this.index.refresh();
    const entry = this.index.find(hash);
    if (!entry) throw new Error('absent');
    return entry;
  }

  isPresent(hash: Hash): boolean {
    this.index.refresh();
    return this.index.find(hash) !== undefined;
  }

  rows(table: TableName): number {
    this.index.refresh();
    return this.index.tables.table(table).getCount();
  }

  /** When a tick began; undefined if it has not. */
  began(tick: number): number | undefined {
    const key = Buffer.alloc(5, 't');
    key.writeUInt32BE(tick, 1);
    this.index.refresh();
    return this.index.tables.table('state').get(key)?.readDoubleLE();
  }
}

function openIn(folder: string): Index {
  mkdirSync(folder);
  const index = Index.open(folder);
  index.tables.createAll();
  return index;
}

/** Each index is closed and removed after its test. */
export function useIndexes(): () => TestIndex {
  const made: TestIndex[] = [];
  afterEach(async () => {
    for (const { index, folder } of made.splice(0)) {
      await index.close();
      removeFolder(folder);
    }
  });
  return () => {
    const test = new TestIndex();
    made.push(test);
    return test;
  };
}
