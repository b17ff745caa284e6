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
// R4 An eviction that was begun ends at its target, also if the janitor that began it is gone.
// R5 What accounts may hold is evicted of them first, and their floors are kept (shares.ts). Until the holders are counted
//    no quota is known, and with floors nothing is evicted.
// R6 Only a round that has claimed the right to delete objects deletes some (ownership/ownership.ts).
// R7 Nothing waits for the count of condemned objects longer than FLEET.countCondemnedMs. There may be very many.
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../../../core/errors.ts';
import type { OnStoreEvent } from '../../../../store/events.ts';
import { STORE } from '../../../../store/limits.ts';
import { FLEET } from '../../limits.ts';
import type { FleetAccount, FleetAccounts } from '../accounts/accounts.ts';
import type { Bucket } from '../bucket.ts';
import type { Database, Statement } from '../index/database.ts';
import type { FleetClock } from '../index/logical-clock.ts';
import { CONDEMNED, type ObjectRows } from '../index/object-rows.ts';
import type { FleetOwnership } from '../ownership/ownership.ts';
import type { FleetFigures, FleetSpace, HeldBytes } from '../space.ts';
import type { WrongObjects } from '../wrong-objects.ts';
import { condemnAbandoned, dropSurplus } from './abandoned.ts';
import { FleetCount, type Held } from './count.ts';
import { DeadLabels } from './dead-labels.ts';
import { Deletions } from './deletions.ts';
import type { Election, Mandate } from './election.ts';
import { type EvictedEntries, FleetEviction } from './eviction.ts';
import { Orphans } from './orphans.ts';
import { publishAccounts, readAccounts, SharedEviction } from './shares.ts';

const COUNT_CONDEMNED: Statement = {
  name: 'janitor count condemned',
  text: `
    SELECT count(*) AS count
    FROM (SELECT FROM assay.object WHERE state = ${CONDEMNED} LIMIT ${FLEET.countedObjects}) AS o`,
};

/** For all nodes. */
const PUBLISH: Statement = {
  name: 'janitor publish',
  text: `
    INSERT INTO assay.figures (bucket, index, condemned, uploads)
    SELECT $1, $2, $3, (SELECT count(*) FROM assay.upload)
    ON CONFLICT (one) DO UPDATE SET bucket = excluded.bucket, index = excluded.index,
      condemned = excluded.condemned, uploads = excluded.uploads
    RETURNING bucket, index, condemned, uploads`,
};

const READ: Statement = {
  name: 'janitor figures',
  text: 'SELECT bucket, index, condemned, uploads FROM assay.figures',
};

interface JanitorOptions {
  readonly database: Database;
  readonly bucket: Bucket;
  readonly clock: FleetClock;
  readonly objectRows: ObjectRows;
  readonly election: Election;
  readonly ownership: FleetOwnership;
  readonly wrong: WrongObjects;
  readonly accounts: FleetAccounts;
  readonly space: FleetSpace;
  readonly now: () => number;
  readonly onEvent: OnStoreEvent;
}

/** What was removed since the last report. */
interface Removed extends Omit<EvictedEntries, 'bucket' | 'index'> {
  /** In the bucket and in PostgreSQL. */
  readonly bytes: number;
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
  readonly #count: FleetCount;
  readonly #deadLabels: DeadLabels;
  readonly #timers: readonly NodeJS.Timeout[];
  /** By the name of the task. */
  readonly #running = new Map<string, Promise<void>>();
  #removed = NOTHING;
  /** Objects, as counted last. */
  #condemned = 0;
  /** The term in which no eviction is unfinished. */
  #settledTerm: number | undefined;
  /** When to look again for what an account may lose. */
  readonly #lookAgainAt = new Map<FleetAccount, number>();
  #isClosed = false;

  constructor(options: JanitorOptions) {
    this.#options = options;
    this.#deletions = new Deletions(options.bucket, options.clock, (refused) => this.#add({ refused }));
    this.#orphans = new Orphans(options.bucket, options.onEvent);
    this.#count = new FleetCount(options.clock, options.accounts, options.now);
    this.#deadLabels = new DeadLabels(options.now);
    this.#timers = [
      setInterval(() => void this.run().catch(() => {}), FLEET.janitorMs),
      setInterval(() => void this.#refresh().catch(() => {}), FLEET.figuresMs),
    ];
    for (const timer of this.#timers) timer.unref();
  }

  /** One round. Throws the first failure of one of its tasks, after all of them have ended. */
  async run(): Promise<void> {
    const { objectRows, bucket, wrong, election } = this.#options;
    const own = [
      this.#start('confirm', () => objectRows.confirm()),
      this.#start('judge', async () => {
        if (!bucket.isAway) await wrong.judge();
      }),
    ];
    const elected = election
      .mandate()
      .then((mandate) => (mandate ? this.#runElected(mandate) : this.#runOther()));
    const ended = await Promise.allSettled([...own, elected]);
    this.#report();
    const failure = ended.find((one) => one.status === 'rejected');
    if (!failure) return;
    this.#options.onEvent({ type: 'eviction-failed', detail: messageOf(failure.reason) });
    throw failure.reason;
  }

  async #runOther(): Promise<void> {
    const { ownership } = this.#options;
    await Promise.all([
      this.#start('look', () => ownership.look()),
      this.#start('figures', () => this.#readFigures()),
    ]);
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

  /** Each round claims the right to delete, also while a deletion of an earlier round is still running (R6). */
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

  /** Between two rounds: the figures, and what follows from them. */
  async #refresh(): Promise<void> {
    const { election } = this.#options;
    const mandate = election.isElected ? await election.mandate() : undefined;
    if (mandate) await this.#start('evict', () => this.#evict(mandate));
    else await this.#start('figures', () => this.#readFigures());
  }

  async #readFigures(): Promise<void> {
    const [figures] = await this.#options.database.query<FleetFigures>(READ);
    if (figures) this.#options.space.figures = figures;
    const { accounts, database } = this.#options;
    if (!accounts.isEmpty) await readAccounts(database, accounts);
  }

  async #look(mandate: Mandate): Promise<Held> {
    const held = await this.#count.held(mandate);
    await this.#countCondemned();
    const values = [held.bucket, held.index, this.#condemned];
    const [figures] = await mandate.query<FleetFigures>(PUBLISH, values);
    if (figures) this.#options.space.figures = figures;
    if (held.byList) await publishAccounts(mandate, this.#options.accounts, held.byList);
    return held;
  }

  /** Over a connection of its own. If it takes long, or fails, the last count stays (R7). */
  async #countCondemned(): Promise<void> {
    const counted = this.#start('count condemned', async () => {
      const [row] = await this.#options.database.query<{ count: number }>(COUNT_CONDEMNED);
      this.#condemned = row?.count ?? 0;
    });
    const bound = sleep(FLEET.countCondemnedMs, undefined, { ref: false });
    await Promise.race([counted.catch(() => {}), bound]);
  }

  /** Goes by a count that is at most FLEET.figuresMs old, less what it has removed since. */
  async #evict(mandate: Mandate): Promise<void> {
    const { space, accounts } = this.#options;
    let held = await this.#look(mandate);
    if ((space.figures?.uploads ?? 0) > FLEET.maxUploads * STORE.evictFrom) {
      const surplus = (space.figures?.uploads ?? 0) - FLEET.maxUploads / 2;
      this.#add({ condemned: await dropSurplus(mandate, surplus) });
      held = await this.#look(mandate);
    }
    await this.#count.countAnew(mandate);
    // Another janitor, or a round that failed, may have begun an eviction: this one goes on to the target (R4).
    const evictFrom = this.#settledTerm === mandate.term ? STORE.evictFrom : STORE.evictTo;
    this.#settledTerm = undefined;
    const isIndexFull =
      held.index > space.limits.index * evictFrom ||
      accounts.all.some((account) => account.held.index > account.quota.index * STORE.evictFrom);
    if (isIndexFull) {
      this.#add({ bytes: await this.#deadLabels.remove(mandate, () => this.#isClosed) });
      held = await this.#look(mandate);
    }
    if (!accounts.isEmpty) held = await this.#evictForQuotas(mandate, held);
    const hasFloors = accounts.all.some((account) => account.hasFloor);
    if (hasFloors && !held.byList) return;
    const eviction = hasFloors ? await SharedEviction.begin(mandate, accounts) : new FleetEviction(mandate);
    const excess = excessOver(space.limits, evictFrom, held);
    const isDone = await this.#evictUntil(
      mandate,
      () => excess(held),
      eviction,
      (now) => {
        held = now(held);
      },
    );
    if (isDone) this.#settledTerm = mandate.term;
  }

  /** Returns what the fleet holds then. */
  async #evictForQuotas(mandate: Mandate, found: Held): Promise<Held> {
    const { accounts, now } = this.#options;
    // The first count of new accounts may have ended just now.
    const held = found.byList ? found : await this.#look(mandate);
    if (!held.byList) return held;
    const isOver = (account: FleetAccount) => {
      const excess = excessOver(account.quota, STORE.evictFrom, account.held)(account.held);
      return excess.bucket + excess.index > 0;
    };
    const above = accounts.all.filter(isOver);
    if (above.length === 0) return held;
    for (const account of above) {
      const began = now();
      if (began < (this.#lookAgainAt.get(account) ?? began)) continue;
      const excess = excessOver(account.quota, STORE.evictFrom, account.held);
      const eviction = await SharedEviction.begin(mandate, accounts, account);
      const isDone = await this.#evictUntil(
        mandate,
        () => excess(account.held),
        eviction,
        () => {},
      );
      const tookMs = now() - began;
      // What it has may all be leased, behind very many entries of others, which then wait for their eviction.
      if (!isDone && tookMs > FLEET.longPassMs)
        this.#lookAgainAt.set(account, now() + tookMs * FLEET.passPauseFactor);
    }
    return this.#look(mandate);
  }

  /** True when nothing is in excess any more. `onHeld` gets what each step makes of what the fleet holds. */
  async #evictUntil(
    mandate: Mandate,
    excess: () => HeldBytes,
    eviction: Pick<FleetEviction, 'step'>,
    onHeld: (change: (held: Held) => Held) => void,
  ): Promise<boolean> {
    const { now } = this.#options;
    const isExceeded = ({ bucket, index }: HeldBytes) => bucket + index > 0;
    let looked = now();
    while (!this.#isClosed && isExceeded(excess())) {
      const evicted = await eviction.step(excess());
      if (!evicted) return false;
      const { results, blobs, bucket, index, unusedMs } = evicted;
      this.#add({ results, blobs, bytes: bucket + index, ...(unusedMs !== undefined && { unusedMs }) });
      onHeld((held) => ({ ...held, bucket: held.bucket - bucket, index: held.index - index }));
      if (isExceeded(excess()) && now() - looked < FLEET.figuresMs) continue;
      const held = await this.#look(mandate);
      onHeld(() => held);
      looked = now();
    }
    return !this.#isClosed;
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
    for (const timer of this.#timers) clearInterval(timer);
    await Promise.allSettled([...this.#running.values()]);
    await this.#options.election.close();
  }
}

/** What is above the target, in each part that is above `from` of its limit at the start. */
function excessOver(limits: HeldBytes, from: number, start: HeldBytes): (held: HeldBytes) => HeldBytes {
  const isFull = { bucket: start.bucket > limits.bucket * from, index: start.index > limits.index * from };
  const excess = (part: keyof HeldBytes, held: HeldBytes) =>
    isFull[part] ? Math.max(0, held[part] - limits[part] * STORE.evictTo) : 0;
  return (held) => ({ bucket: excess('bucket', held), index: excess('index', held) });
}
