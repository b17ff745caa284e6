// The janitor: what a fleet does by itself, in rounds of a minute.
//
// Each node confirms its uploads, reads how much the fleet holds, and looks at the blobs of which another node has read
// wrong bytes. One elected node (election.ts) removes: it evicts, drops what dead nodes left, deletes condemned objects,
// and looks for orphans in one page of the bucket's listing.
//
// Invariants:
// R1 Work of the elected node runs over the session that holds its lock, or asks that session before it deletes.
// R2 The tasks of a round run beside one another. A task that is still running is not started again: the next round goes
//    on without it.
// R3 What was removed is reported once, in one event of a round.
// R4 Only a round that has claimed the right to delete objects deletes some (ownership/ownership.ts).
import { messageOf } from '../../../core/errors.ts';
import type { OnStoreEvent } from '../../events.ts';
import { STORE } from '../../limits.ts';
import type { Bucket } from '../bucket.ts';
import type { Database, Statement } from '../index/database.ts';
import type { LogicalClock } from '../index/logical-clock.ts';
import { CONDEMNED, type ObjectRows } from '../index/object-rows.ts';
import type { Ownership } from '../ownership/ownership.ts';
import type { WrongObjects } from '../wrong-objects.ts';
import { condemnAbandoned } from './abandoned.ts';
import { Deletions } from './deletions.ts';
import type { Election, Mandate } from './election.ts';
import { type EvictedEntries, FleetEviction } from './eviction.ts';
import { Orphans } from './orphans.ts';

const COUNT: Statement = {
  name: 'janitor count',
  text: `
    SELECT (SELECT count(*) FROM assay.upload) AS uploads,
      (SELECT count(*) FROM (
        SELECT FROM assay.object WHERE state = ${CONDEMNED} LIMIT ${STORE.countedObjects}
      ) AS some) AS condemned`,
};

export interface JanitorOptions {
  readonly database: Database;
  readonly bucket: Bucket;
  readonly clock: LogicalClock;
  readonly objectRows: ObjectRows;
  readonly election: Election;
  readonly ownership: Ownership;
  readonly wrong: WrongObjects;
  /** The bytes that the fleet may hold. */
  readonly maxBytes: number;
  readonly onEvent: OnStoreEvent;
}

/** What the last round found in the tables. */
export interface FleetUsage {
  /** Of all blobs. */
  readonly bytes: number;
  /** Objects that are still to be deleted. */
  readonly condemned: number;
  /** Unfinished uploads in parts. */
  readonly uploads: number;
}

/** What was removed since the last report. */
interface Removed extends EvictedEntries {
  readonly condemned: number;
  readonly deleted: number;
  readonly orphans: number;
  /** Objects that the bucket would not delete. */
  readonly refused: number;
}

const COUNTS = ['results', 'blobs', 'bytes', 'condemned', 'deleted', 'orphans', 'refused'] as const;
const NOTHING: Removed = { results: 0, blobs: 0, bytes: 0, condemned: 0, deleted: 0, orphans: 0, refused: 0 };

export class Janitor {
  readonly #options: JanitorOptions;
  readonly #deletions: Deletions;
  readonly #orphans: Orphans;
  readonly #timer: NodeJS.Timeout;
  /** By the name of the task. */
  readonly #running = new Map<string, Promise<void>>();
  #removed = NOTHING;
  #isClosed = false;
  #usage: FleetUsage | undefined;

  constructor(options: JanitorOptions) {
    this.#options = options;
    this.#deletions = new Deletions(options.bucket, options.clock, (refused) => this.#add({ refused }));
    this.#orphans = new Orphans(options.bucket, options.onEvent);
    this.#timer = setInterval(() => void this.run().catch(() => {}), STORE.janitorMs);
    this.#timer.unref();
  }

  get hasTooManyUploads(): boolean {
    return (this.#usage?.uploads ?? 0) >= STORE.maxFleetUploads;
  }

  /** Undefined before the first round. */
  get usage(): FleetUsage | undefined {
    return this.#usage;
  }

  /** The bytes that the fleet may hold. */
  get maxBytes(): number {
    return this.#options.maxBytes;
  }

  /** One round. Throws the first failure of one of its tasks, after all of them have ended. */
  async run(): Promise<void> {
    const { objectRows, bucket, wrong, election, ownership } = this.#options;
    const own = [
      this.#start('confirm', () => objectRows.confirm()),
      this.#start('count', () => this.#count()),
      this.#start('judge', async () => {
        if (!bucket.isAway) await wrong.judge();
      }),
    ];
    const elected = election
      .mandate()
      .then((mandate) => (mandate ? this.#runElected(mandate) : this.#start('look', () => ownership.look())));
    const ended = await Promise.allSettled([...own, elected]);
    this.#report();
    const failure = ended.find((one) => one.status === 'rejected');
    if (!failure) return;
    this.#options.onEvent({ type: 'eviction-failed', detail: messageOf(failure.reason) });
    throw failure.reason;
  }

  async #runElected(mandate: Mandate): Promise<void> {
    const { clock } = this.#options;
    await Promise.all([
      this.#start('evict', () => this.#evict(mandate)),
      this.#start('condemn', async () => {
        this.#add({ condemned: await condemnAbandoned(mandate, clock) });
      }),
      this.#delete(mandate),
    ]);
  }

  /** Each round claims the right to delete, also while a deletion of an earlier round is still running (R4). */
  async #delete(mandate: Mandate): Promise<void> {
    const { bucket, ownership } = this.#options;
    if (bucket.isAway) return;
    const right = await bucket.attempt(() => ownership.claim(mandate));
    if (!right) return;
    await Promise.all([
      this.#start('delete', () =>
        this.#deletions.deleteCondemned(mandate, right, (deleted) => {
          this.#add({ deleted });
          return !this.#isClosed;
        }),
      ),
      this.#start('list', async () => {
        this.#add({ orphans: await this.#orphans.look(mandate, right) });
      }),
    ]);
  }

  /** Resolves at once if the task of an earlier round is still running (R2). */
  #start(name: string, work: () => Promise<void>): Promise<void> {
    if (this.#isClosed || this.#running.has(name)) return Promise.resolve();
    const running = work().finally(() => this.#running.delete(name));
    this.#running.set(name, running);
    return running;
  }

  async #count(): Promise<void> {
    const { database } = this.#options;
    const [row] = await database.query<{ uploads: number; condemned: number }>(COUNT);
    this.#usage = { uploads: 0, condemned: 0, ...row, bytes: await new FleetEviction(database).usedBytes() };
  }

  /** Another count decides about each step: nodes write meanwhile. */
  async #evict(mandate: Mandate): Promise<void> {
    const { maxBytes } = this.#options;
    const eviction = new FleetEviction(mandate);
    if ((await eviction.usedBytes()) <= maxBytes * STORE.evictFrom) return;
    while (!this.#isClosed) {
      const evicted = await eviction.stepTo(maxBytes * STORE.evictTo);
      if (!evicted) return;
      this.#add(evicted);
    }
  }

  #add(more: Partial<Removed>): void {
    const counts = COUNTS.map((name) => [name, this.#removed[name] + (more[name] ?? 0)]);
    this.#removed = { ...this.#removed, ...more, ...Object.fromEntries(counts) };
  }

  #report(): void {
    const removed = this.#removed;
    this.#removed = NOTHING;
    if (COUNTS.some((name) => removed[name] > 0)) this.#options.onEvent({ type: 'cleaned', ...removed });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await Promise.allSettled([...this.#running.values()]);
    await this.#options.election.close();
  }
}
