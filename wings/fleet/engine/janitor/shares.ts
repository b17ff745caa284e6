// The shares of accounts in an eviction: what is evicted for a quota, and what a floor keeps.
//
// Guarantees H3 and H4 of ../accounts/accounts.ts, by what the accounts hold as counted, less what was evicted since.
import type { AccountsByNumber, FleetAccount, FleetAccounts, HeldByList } from '../accounts/accounts.ts';
import { PARTS } from '../accounts/accounts.ts';
import type { Queries, Statement } from '../index/database.ts';
import type { HeldBytes } from '../space.ts';
import { type EvictedScope, type Freed, ScopedEviction } from './eviction.ts';

const HOLDERS: Statement = {
  name: 'shares holders',
  text: `SELECT name, number FROM assay.tenant WHERE name >= '/' AND name < '0'`,
};

const PUBLISH: Statement = {
  name: 'shares publish',
  text: `
    WITH others AS (DELETE FROM assay.account_figures WHERE account <> ALL ($1::text[]))
    INSERT INTO assay.account_figures SELECT * FROM unnest($1::text[], $2::int8[], $3::int8[])
    ON CONFLICT (account) DO UPDATE SET bucket = excluded.bucket, index = excluded.index`,
};

const READ: Statement = {
  name: 'shares figures',
  text: 'SELECT account, bucket, index FROM assay.account_figures',
};

/** What the janitor has counted, for all nodes. */
export async function publishAccounts(
  queries: Queries,
  accounts: FleetAccounts,
  byList: readonly HeldByList[],
): Promise<void> {
  const byNumber = await holders(queries, accounts);
  for (const account of accounts.all) account.held = { bucket: 0, index: 0 };
  for (const { holders: list, bucket, index } of byList)
    for (const account of byNumber.accountsOf(list)) account.removed({ bucket: -bucket, index: -index });
  await queries.query(PUBLISH, [
    accounts.all.map(({ name }) => name),
    ...PARTS.map((part) => accounts.all.map(({ held }) => held[part])),
  ]);
}

export async function readAccounts(queries: Queries, accounts: FleetAccounts): Promise<void> {
  const rows = await queries.query<{ account: string } & HeldBytes>(READ);
  for (const { account: name, bucket, index } of rows) {
    const account = accounts.all.find((one) => one.name === name);
    if (account) account.held = { bucket, index };
  }
}

async function holders(queries: Queries, accounts: FleetAccounts): Promise<AccountsByNumber> {
  return accounts.accountsByNumber(await queries.query<{ name: string; number: number }>(HOLDERS));
}

/** One eviction: for an account that is above its quota, or for the whole fleet. */
export class SharedEviction {
  readonly #byNumber: AccountsByNumber;
  readonly #eviction: ScopedEviction;
  readonly #account: FleetAccount | undefined;
  readonly #floors: readonly FleetAccount[];
  /** Those of which nothing more is taken. */
  readonly #kept = new Set<FleetAccount>();

  static async begin(
    queries: Queries,
    accounts: FleetAccounts,
    account?: FleetAccount,
  ): Promise<SharedEviction> {
    return new SharedEviction(queries, accounts, await holders(queries, accounts), account);
  }

  private constructor(
    queries: Queries,
    accounts: FleetAccounts,
    byNumber: AccountsByNumber,
    account: FleetAccount | undefined,
  ) {
    this.#byNumber = byNumber;
    this.#account = account;
    this.#floors = accounts.all.filter((one) => one.hasFloor && one !== account);
    this.#eviction = new ScopedEviction(queries);
  }

  /** Undefined if nothing more can go. */
  async step(wanted: HeldBytes): Promise<EvictedScope | undefined> {
    for (;;) {
      const spareOf = (one: FleetAccount) =>
        Math.min(...PARTS.map((part) => (wanted[part] > 0 ? one.held[part] - one.floor[part] : Infinity)));
      for (const one of this.#floors) if (spareOf(one) <= 0) this.#kept.add(one);
      const bounded = this.#floors.filter((one) => !this.#kept.has(one));
      const most = (part: keyof HeldBytes) =>
        wanted[part] > 0 ? Math.min(...bounded.map((one) => one.held[part] - one.floor[part])) : Infinity;
      const evicted = await this.#eviction.step(wanted, {
        ...(this.#account && { only: this.#byNumber.numbersOf(this.#account) }),
        kept: this.#numbersOf([...this.#kept]),
        bounded: this.#numbersOf(bounded),
        most: { bucket: most('bucket'), index: most('index') },
      });
      if (evicted) {
        for (const freed of evicted.freed) this.#takeOut(freed);
        return evicted;
      }
      const least = bounded.toSorted((a, b) => spareOf(a) - spareOf(b))[0];
      if (!least) return undefined;
      this.#kept.add(least);
    }
  }

  #numbersOf(accounts: readonly FleetAccount[]): number[] {
    return [...new Set(accounts.flatMap((account) => this.#byNumber.numbersOf(account)))];
  }

  #takeOut({ was, stays, bucket, index }: Freed): void {
    const still = this.#byNumber.accountsOf(stays);
    for (const account of this.#byNumber.accountsOf(was).difference(still))
      account.removed({ bucket, index });
  }
}
