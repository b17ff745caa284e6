// The accounts of a fleet: who holds a blob or a result, and how many bytes each account holds.
//
// A holder is a part of the namespaces that counts for the same accounts: the one below a prefix that an account
// names, and one for all the rest. `presence.tenants` lists the holders of a blob beside its tenants, as numbers
// below -1; `result.holder` is that of a result. Without accounts neither is written.
//
// Invariants:
// H1 If a result names a blob, the blob's list has the result's holder before the result is stored. A list without a
//    holder is the rest's.
// H2 A blob counts in full and once for each account that has one of its holders, whoever else holds it. A result
//    counts for the accounts of its namespace.
// H3 The janitor evicts what an account above its quota holds, and nothing else for it. A blob that others hold too
//    stays, and the account gives it up.
// H4 For others nothing of an account is evicted that would leave it less than its floor.
// H5 Every size is of the bucket and of PostgreSQL apart, as the limits are.
import { withoutProtocol } from '../../../../core/namespace.ts';
import {
  type AccountSettings,
  type AccountUse,
  HOLDER,
  isHolderAtOrBelow,
  nearestIn,
} from '../../../../store/accounts.ts';
import { STORE } from '../../../../store/limits.ts';
import type { SizeLimit } from '../../../../store/size-limit.ts';
import { FLEET } from '../../limits.ts';
import { HOLDERS_BELOW } from '../index/held-bytes.ts';
import type { HeldBytes } from '../space.ts';
import type { FleetTenants } from '../tenants.ts';

/** The parts of a fleet that hold bytes. */
export const PARTS = ['bucket', 'index'] as const;
export const PART_NAMES: HeldNames = { bucket: 'the bucket', index: 'PostgreSQL' };

type HeldNames = Readonly<Record<keyof HeldBytes, string>>;

export class FleetAccount {
  readonly name: string;
  readonly namespaces: readonly string[];
  readonly quota: HeldBytes;
  readonly floor: HeldBytes;
  readonly #settings: AccountSettings;
  /** As the janitor has counted. */
  #held: HeldBytes = { bucket: 0, index: 0 };
  /** By this node, since the figures were read. */
  readonly #stored = { bucket: 0, index: 0 };
  /** Bytes for the bucket that are arriving at this node. */
  receiving = 0;

  constructor(settings: AccountSettings, limits: HeldBytes) {
    this.name = settings.name;
    this.namespaces = settings.namespaces;
    this.#settings = settings;
    this.quota = bytesOf(settings.quota, limits, Number.POSITIVE_INFINITY);
    this.floor = bytesOf(settings.floor, limits, 0);
  }

  get hasFloor(): boolean {
    return this.#settings.floor !== undefined;
  }

  get held(): HeldBytes {
    return this.#held;
  }

  set held(held: HeldBytes) {
    this.#held = held;
    Object.assign(this.#stored, { bucket: 0, index: 0 });
  }

  removed({ bucket, index }: HeldBytes): void {
    this.#held = { bucket: this.#held.bucket - bucket, index: this.#held.index - index };
  }

  stored(part: keyof HeldBytes, bytes: number): void {
    this.#stored[part] += bytes;
  }

  /** With what this node has stored since the janitor counted, and what it is receiving. */
  isFull(part: keyof HeldBytes, bytes: number): boolean {
    const here = this.#stored[part] + (part === 'bucket' ? this.receiving : 0);
    return this.#held[part] + here + bytes > Math.floor(this.quota[part] * FLEET.refuseFrom);
  }

  includes(prefix: string): boolean {
    return this.namespaces.some((base) => isHolderAtOrBelow(prefix, base));
  }

  /** One for the bucket, and one for PostgreSQL. */
  uses(): AccountUse[] {
    const { name, namespaces, quota, floor, hasFloor } = this;
    const heldNow = () => this.#held;
    return PARTS.map((part) => ({
      name: `${name} in ${PART_NAMES[part]}`,
      namespaces,
      get bytes() {
        return heldNow()[part];
      },
      quota: quota[part],
      floor: floor[part],
      hasQuota: Number.isFinite(quota[part]),
      hasFloor,
    }));
  }
}

export interface FleetHolder {
  /** In the table of tenants. */
  readonly name: string;
  readonly accounts: readonly FleetAccount[];
}

/** The numbers of a holder, and of the rest, as statements take them. */
export interface HolderNumbers {
  readonly own: number;
  readonly rest: number;
}

/** What holders hold together: those of one list. */
export interface HeldByList extends HeldBytes {
  readonly holders: readonly number[];
}

const REST: FleetHolder = { name: HOLDER, accounts: [] };

export class FleetAccounts {
  readonly all: readonly FleetAccount[];
  readonly #byPrefix = new Map<string, FleetHolder>();
  readonly #byNamespace = new Map<string, FleetHolder>();
  readonly #tenants: Pick<FleetTenants, 'assign'>;

  constructor(
    settings: readonly AccountSettings[],
    limits: HeldBytes,
    tenants: Pick<FleetTenants, 'assign'>,
  ) {
    this.all = settings.map((one) => new FleetAccount(one, limits));
    this.#tenants = tenants;
    for (const prefix of settings.flatMap(({ namespaces }) => namespaces)) {
      const accounts = this.all.filter((account) => account.includes(prefix));
      this.#byPrefix.set(prefix, { name: `${HOLDER}${prefix}`, accounts });
    }
  }

  get isEmpty(): boolean {
    return this.all.length === 0;
  }

  /** `stored` may be the namespace of a protocol, or of a rival. Undefined: nothing is counted. */
  holderOf(stored: string): FleetHolder | undefined {
    if (this.isEmpty) return undefined;
    const known = this.#byNamespace.get(stored);
    if (known) return known;
    const path = withoutProtocol(stored.startsWith('!') ? stored.slice(stored.indexOf('/') + 1) : stored);
    if (this.#byNamespace.size >= STORE.tenantViews) this.#byNamespace.clear();
    const holder = this.#holderBelow(path);
    this.#byNamespace.set(stored, holder);
    return holder;
  }

  #holderBelow(path: string): FleetHolder {
    return nearestIn(this.#byPrefix, path) ?? REST;
  }

  async numbersOf({ name }: FleetHolder): Promise<HolderNumbers> {
    return { own: await this.#numberOf(name), rest: await this.#numberOf(REST.name) };
  }

  async #numberOf(name: string): Promise<number> {
    return holderNumber(await this.#tenants.assign(name));
  }

  /** The numbers of all holders of these settings, in order. Each has a row when this resolves. */
  async numbers(): Promise<number[]> {
    const names = [REST.name, ...this.#byPrefix.values().map(({ name }) => name)];
    const numbers: number[] = [];
    for (const name of names) numbers.push(await this.#numberOf(name));
    return numbers.toSorted((a, b) => a - b);
  }

  /** A list may have holders of earlier settings: theirs belongs to the nearest prefix above it now. */
  accountsByNumber(rows: readonly HolderRow[]): AccountsByNumber {
    return new AccountsByNumber(
      rows.map(({ name, number }) => [holderNumber(number), this.#holderBelow(name.slice(HOLDER.length))]),
    );
  }
}

/** A row of `assay.tenant` that is a holder's. */
interface HolderRow {
  readonly name: string;
  readonly number: number;
}

export class AccountsByNumber {
  readonly #holders: ReadonlyMap<number, FleetHolder>;

  constructor(holders: readonly (readonly [number, FleetHolder])[]) {
    this.#holders = new Map(holders);
  }

  accountsOf(list: readonly number[]): Set<FleetAccount> {
    return new Set(list.flatMap((number) => this.#holders.get(number)?.accounts ?? []));
  }

  numbersOf(account: FleetAccount): number[] {
    return [...this.#holders].flatMap(([number, { accounts }]) =>
      accounts.includes(account) ? [number] : [],
    );
  }
}

function holderNumber(tenant: number): number {
  return HOLDERS_BELOW - tenant;
}

/** A share is of each limit, a size holds for each. */
function bytesOf(size: SizeLimit | undefined, limits: HeldBytes, without: number): HeldBytes {
  const of = (limit: number) => (size ? (size.bytes ?? (size.share ?? 1) * limit) : without);
  return { bucket: of(limits.bucket), index: of(limits.index) };
}
