// The spaces of a store: its own, and one for each account that has a quota.
// A write must fit into the quota of each of its accounts, and then into the store. It waits in the queue of the
// first space that has no room for it. So a namespace at its quota waits for itself, and holds up nobody else.
import type { OnStoreEvent } from '../../events.ts';
import type { IncomingWrite, Reservation, SpaceLimit } from '../../layers/limit.ts';
import type { Account, Holder } from '../accounts/accounts.ts';
import type { Holdings } from '../accounts/holdings.ts';
import type { Sweeper, Swept } from '../files/sweep.ts';
import type { UploadRecords } from '../index/upload-records.ts';
import { type Evicted, type Eviction, NOTHING_EVICTED, sumOf } from './eviction.ts';
import { Space, type SpaceEviction, spaceRequestFor, type UsageSource, withinAll } from './space.ts';

interface SpacesParts {
  readonly source: UsageSource;
  readonly eviction: Eviction;
  readonly sweeper: Sweeper;
  readonly uploads: UploadRecords;
  readonly holdings: Holdings;
  readonly limit: () => number;
}

export class Spaces {
  /** The whole store. */
  readonly store: Space;
  readonly #quotas: ReadonlyMap<Account, Space>;
  readonly #limits = new Map<Holder, SpaceLimit>();

  constructor(parts: SpacesParts, onEvent: OnStoreEvent) {
    const { source, holdings, limit } = parts;
    const { accounts } = holdings;
    const eviction = evictionOf(parts);
    const keptFor = (writer: Holder | undefined) =>
      accounts.isEmpty || !holdings.isCounted ? 0 : accounts.unfilledFloors(writer);
    this.store = new Space(
      { source, eviction, limit, name: 'the limit of the whole store', keptFor },
      onEvent,
    );
    const withQuota = accounts.all.filter(({ hasQuota }) => hasQuota);
    this.#quotas = new Map(
      withQuota.map((account) => [account, new Space(quotaOf(account, parts), onEvent)] as const),
    );
    void this.#evictOnceCounted(holdings);
  }

  /** A new quota may be below what its account holds already. */
  async #evictOnceCounted(holdings: Holdings): Promise<void> {
    await holdings.counted;
    for (const space of this.#quotas.values()) space.evictInAdvance();
  }

  /** What a write of this holder must fit into. */
  limitsOf(holder: Holder): SpaceLimit {
    const known = this.#limits.get(holder);
    if (known) return known;
    const quotas = holder.accounts.flatMap((account) => this.#quotas.get(account) ?? []);
    const limit = limitOf([...quotas, this.store], holder);
    this.#limits.set(holder, limit);
    return limit;
  }

  async close(): Promise<void> {
    await Promise.all([this.store, ...this.#quotas.values()].map((space) => space.close()));
  }
}

function quotaOf(account: Account, { eviction, sweeper, uploads, holdings }: SpacesParts) {
  const isOf = (number: number) => holdings.accounts.isOf(account, number);
  const files = () => (holdings.isCounted ? account.bytes + uploads.stagedBytes(isOf) : 0);
  return {
    name: `the quota of ${account.name}`,
    limit: () => account.quota,
    source: { usage: () => ({ index: 0, indexFile: 0, files: files() }), compact: async () => {} },
    eviction: evictionOf({ eviction, sweeper }, { account, isOf }),
  };
}

interface Within {
  readonly account: Account;
  /** Whether the number is that of a holder of the account. */
  isOf(number: number): boolean;
}

/**
 * The order of eviction: stale uploads, then the least recently used entries, then staged parts that are
 * idle.
 */
function evictionOf(
  { eviction, sweeper }: Pick<SpacesParts, 'eviction' | 'sweeper'>,
  within?: Within,
): SpaceEviction {
  return {
    async step(wantedBytes, mostEntries, writer) {
      const stale = await sweeper.sweepWhenFull();
      if (stale) return asEvicted(stale);
      const step = await eviction.step(wantedBytes, mostEntries, { writer, account: within?.account });
      if (step) return step;
      const parts = await sweeper.evict(wantedBytes, within && (({ holder }) => within.isOf(holder)));
      return parts && asEvicted(parts);
    },
    async preview(wantedBytes, onPage) {
      const { stale, idleParts } = await sweeper.preview(wantedBytes);
      const entries = await eviction.preview(wantedBytes - stale.bytes, onPage);
      const found = sumOf(asEvicted(stale), entries);
      return found.bytes >= wantedBytes ? found : sumOf(found, asEvicted(idleParts));
    },
  };
}

function asEvicted({ files, bytes }: Swept): Evicted {
  return { ...NOTHING_EVICTED, uploads: files, bytes };
}

/** All of these spaces as one limit for what a holder writes. */
function limitOf(spaces: readonly Space[], holder: Holder): SpaceLimit {
  return {
    isAvailable: (bytes) => {
      const request = spaceRequestFor(bytes, holder);
      return spaces.every((space) => space.admitsNow(request));
    },
    withReserved: (bytes, write) => withinAll(spaces, spaceRequestFor(bytes, holder), write),
    begin: (write) => beginAll(spaces, holder, write),
  };
}

function beginAll([space, ...others]: readonly Space[], holder: Holder, write: IncomingWrite): Reservation {
  if (!space) throw new Error('a write has at least the space of the store');
  const first = space.begin(write, holder);
  if (others.length === 0) return first;
  const second = orEnd(first, () => beginAll(others, holder, write));
  const inBoth = (act: (reservation: Reservation) => void) => {
    act(first);
    act(second);
  };
  return {
    grow(bytes) {
      const waiting = first.grow(bytes);
      return waiting ? waiting.then(() => second.grow(bytes)) : second.grow(bytes);
    },
    markStored: (bytes) => inBoth((reservation) => reservation.markStored(bytes)),
    complete: () => inBoth((reservation) => reservation.complete()),
    end: () => inBoth((reservation) => reservation.end()),
  };
}

function orEnd<T>(reservation: Reservation, begin: () => T): T {
  try {
    return begin();
  } catch (error) {
    reservation.end();
    throw error;
  }
}
