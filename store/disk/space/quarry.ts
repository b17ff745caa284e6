// The quarry of one eviction step: whose entries it may remove, and how many bytes of each account with a floor.
// Guarantees A3 and A4 of accounts.ts.
import type { Account, Accounts, Holder } from '../accounts/accounts.ts';

/** For whom space is made. */
export interface Evictor {
  /** Its floors do not keep its own entries. Undefined for the background. */
  readonly writer?: Holder | undefined;
  /** The account that is at its quota. Undefined if the store is full. */
  readonly account?: Account | undefined;
}

export class Quarry {
  readonly #account: Account | undefined;
  /** What each account has above its floor. Those without a floor, and those of the writer, are not in it. */
  readonly #spare = new Map<Account, number>();

  constructor({ all }: Accounts, { writer, account }: Evictor) {
    this.#account = account;
    for (const one of all)
      if (one.hasFloor && !writer?.accounts.includes(one)) this.#spare.set(one, one.bytes - one.floor);
  }

  /** The same for two quarries with the same holders. */
  get name(): string {
    const kept = [...this.#spare].filter(([, bytes]) => bytes <= 0).map(([{ name }]) => name);
    return [this.#account?.name ?? '', ...kept].join('\n');
  }

  includes(holder: Holder): boolean {
    if (this.#account && !holder.accounts.includes(this.#account)) return false;
    return holder.accounts.every((account) => this.#spareOf(account) > 0);
  }

  /** A store removes only what nobody else may keep. An account can also give up what others hold too. */
  includesBlobOf(holders: readonly Holder[]): boolean {
    const isIncluded = (holder: Holder) => this.includes(holder);
    return this.#account ? holders.some(isIncluded) : holders.every(isIncluded);
  }

  /** False if that would take one of them below its floor. Then its entries are no longer in the quarry. */
  take(accounts: readonly Account[], bytes: number): boolean {
    const tooFull = accounts.filter((account) => this.#spareOf(account) < bytes);
    for (const account of tooFull) this.#spare.set(account, 0);
    if (tooFull.length > 0) return false;
    for (const account of accounts)
      if (this.#spare.has(account)) this.#spare.set(account, this.#spareOf(account) - bytes);
    return true;
  }

  #spareOf(account: Account): number {
    return this.#spare.get(account) ?? Number.POSITIVE_INFINITY;
  }
}
