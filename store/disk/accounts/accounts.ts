// Accounts: sets of namespaces that have a quota, a floor, or both, with the bytes that they hold.
//
// A holder is a part of the namespaces that counts for the same accounts: the one below a prefix that an account
// names, and one for all the rest. The entry of a blob lists the numbers of its holders beside those of its
// tenants. Without accounts there is one holder without a number, and nothing is counted.
//
// Invariants:
// A1 If a stored result of a holder names a present blob, the holder is in the blob's list. The holder is added
//    before the commit of the result, and eviction takes it out only if no result of that holder names the blob.
// A2 A blob counts in full and once for each account that has one of its holders, whoever else holds it. A
//    result counts for the accounts of its namespace.
// A3 Nothing of an account with a floor is removed for somebody outside of it while that would leave the account
//    less than its floor.
// A4 A write of an account at its quota removes only what the account holds, or is refused.

import { withoutProtocol } from '../../../core/namespace.ts';
import { type AccountSettings, HOLDER, isHolderAtOrBelow, isHolderName, nearestIn } from '../../accounts.ts';
import { STORE } from '../../limits.ts';
import { BoundedMap } from '../../shared/bounded-map.ts';
import type { SizeLimit } from '../../size-limit.ts';
import { allocatedBytes } from '../index/byte-count.ts';
import { EVERYONE, numbersIn, type Presence, type Tenants, tenantsOf, withTenant } from '../index/records.ts';
import type { TenantNumbers } from '../index/tenants.ts';

export class Account {
  readonly name: string;
  readonly namespaces: readonly string[];
  /** What it holds, as counted so far. */
  bytes = 0;
  readonly #settings: AccountSettings;
  readonly #storeLimit: () => number;

  constructor(settings: AccountSettings, storeLimit: () => number) {
    this.name = settings.name;
    this.namespaces = settings.namespaces;
    this.#settings = settings;
    this.#storeLimit = storeLimit;
  }

  /** Infinite without one. */
  get quota(): number {
    return this.#bytesOf(this.#settings.quota) ?? Number.POSITIVE_INFINITY;
  }

  get floor(): number {
    return this.#bytesOf(this.#settings.floor) ?? 0;
  }

  get hasQuota(): boolean {
    return this.#settings.quota !== undefined;
  }

  get hasFloor(): boolean {
    return this.#settings.floor !== undefined;
  }

  includes(prefix: string): boolean {
    return this.namespaces.some((base) => isHolderAtOrBelow(prefix, base));
  }

  #bytesOf(limit: SizeLimit | undefined): number | undefined {
    if (!limit) return undefined;
    return limit.bytes ?? (limit.share ?? 1) * this.#storeLimit();
  }
}

export interface Holder {
  /** In the entries of blobs. EVERYONE without accounts. */
  readonly number: number;
  readonly accounts: readonly Account[];
}

export class Accounts {
  readonly all: readonly Account[];
  /** Of every namespace that no account names. */
  readonly rest: Holder;
  readonly #byPrefix: ReadonlyMap<string, Holder>;
  readonly #byNumber: ReadonlyMap<number, Holder>;
  readonly #byNamespace = new BoundedMap<string, Holder>(STORE.tenantViews);
  readonly #inLists = new BoundedMap<number | string, readonly Holder[]>(STORE.tenantViews);

  /** For a store where nothing is counted. */
  static readonly none = new Accounts([], new Map(), { number: EVERYONE, accounts: [] }, new Map());

  /** Gives each holder a number, which is durable when this resolves. */
  static async open(
    settings: readonly AccountSettings[],
    numbers: TenantNumbers,
    storeLimit: () => number,
  ): Promise<Accounts> {
    if (settings.length === 0) return Accounts.none;
    const all = settings.map((one) => new Account(one, storeLimit));
    const prefixes = new Set(settings.flatMap(({ namespaces }) => namespaces));
    const byPrefix = new Map<string, Holder>();
    for (const prefix of prefixes) {
      const number = await numbers.assign(`${HOLDER}${prefix}`);
      byPrefix.set(prefix, { number, accounts: all.filter((account) => account.includes(prefix)) });
    }
    const rest = { number: await numbers.assign(HOLDER), accounts: [] };
    return new Accounts(all, byPrefix, rest, numbers.names());
  }

  private constructor(
    all: readonly Account[],
    byPrefix: ReadonlyMap<string, Holder>,
    rest: Holder,
    names: ReadonlyMap<number, string>,
  ) {
    this.all = all;
    this.#byPrefix = byPrefix;
    this.rest = rest;
    const byNumber = new Map<number, Holder>();
    // An entry may list a holder of earlier settings: what it held belongs to the nearest prefix above it now.
    for (const [number, name] of names)
      if (isHolderName(name)) byNumber.set(number, this.#nearest(name.slice(HOLDER.length)));
    this.#byNumber = byNumber;
  }

  get isEmpty(): boolean {
    return this.all.length === 0;
  }

  /** `stored` may be the namespace of a protocol, or of a rival. */
  holderOf(stored: string): Holder {
    if (this.isEmpty) return this.rest;
    const known = this.#byNamespace.get(stored);
    if (known) return known;
    const path = withoutProtocol(stored.startsWith('!') ? stored.slice(stored.indexOf('/') + 1) : stored);
    const found = this.#nearest(path);
    this.#byNamespace.set(stored, found);
    return found;
  }

  #nearest(path: string): Holder {
    return nearestIn(this.#byPrefix, path) ?? this.rest;
  }

  /** Of a blob with that list. Never empty: what nobody else holds, the rest holds. */
  holdersIn(list: Tenants): readonly Holder[] {
    const key = keyOfList(list);
    const known = this.#inLists.get(key);
    if (known) return known;
    const found = new Set(numbersIn(list).flatMap((number) => this.#byNumber.get(number) ?? []));
    const holders = found.size > 0 ? [...found] : [this.rest];
    this.#inLists.set(key, holders);
    return holders;
  }

  /** A list without a holder is the rest's, which must stay in it beside another one. */
  listWith(list: Tenants, holder: Holder): Tenants {
    const isImplied = !numbersIn(list).some((number) => this.#byNumber.has(number));
    return withTenant(isImplied ? withTenant(list, this.rest.number) : list, holder.number);
  }

  /** The tenants stay: each has sent the whole content. */
  listWithout(list: Tenants, isGivenUp: (holder: Holder) => boolean): Tenants {
    const stays = (holder: Holder | undefined) => !holder || !isGivenUp(holder);
    return tenantsOf(...numbersIn(list).filter((number) => stays(this.#byNumber.get(number))));
  }

  /** Whether that is the number of a holder of the account. */
  isOf(account: Account, number: number): boolean {
    return this.#byNumber.get(number)?.accounts.includes(account) ?? false;
  }

  /** The floors that are not filled, without those of the holder's own accounts. */
  unfilledFloors(holder: Holder | undefined): number {
    let bytes = 0;
    for (const account of this.all)
      if (account.hasFloor && !holder?.accounts.includes(account))
        bytes += Math.max(0, account.floor - account.bytes);
    return bytes;
  }
}

/** What a blob counts for: the bytes that it takes, and its rows in the index. */
export function heldBytes({ size, isFile }: Pick<Presence, 'size' | 'isFile'>): number {
  return (isFile ? allocatedBytes(size) : size) + ENTRY_BYTES;
}

/** Roughly what an entry takes in the index besides its content. */
export const ENTRY_BYTES = 384;

/** A number where one can hold the list, as for most blobs: it is found faster than a text. */
function keyOfList(list: Tenants): number | string {
  if (list.length === 0) return 0;
  return list.length <= SHORT_LIST_BYTES ? list.readUIntLE(0, list.length) : list.toString('latin1');
}

const SHORT_LIST_BYTES = 6;
