// Holdings: what each account holds, as a count in memory, and the holders in the entries of blobs.
//
// The count changes after each commit, and is made anew from the whole index at the start and then once a day.
// So a crash, or another process on the store, makes it wrong only until the next count. While a count runs, a
// change of an entry that it has passed changes its sums too. The count also repairs A1: it adds the holder of
// each result to the blobs that the result names.

import type { Digest } from '../../../core/digest.ts';
import { TURN } from '../../limits.ts';
import type { LabelAddress } from '../../store.ts';
import type { HoldingsListener, Index } from '../index/index.ts';
import { labelBytes } from '../index/labels.ts';
import {
  belongsTo,
  decodePresence,
  decodeResultRecord,
  labelAddressOf,
  labelKeyOf,
  type Presence,
  resultAddressIn,
  type Tenants,
} from '../index/records.ts';
import type { Holders } from '../index/results.ts';
import { type Row, rowsFrom, type TableName } from '../index/tables.ts';
import { type Account, type Accounts, type Holder, heldBytes } from './accounts.ts';

type Pause = (tookMs: number) => Promise<void>;

/** How far a count has come, and its sums. */
interface Progress {
  readonly table: TableName;
  last: Buffer;
  readonly sums: Map<Account, number>;
}

const FIRST = Buffer.alloc(1);
const NO_ACCOUNTS: readonly Account[] = [];

export class Holdings implements HoldingsListener, Holders {
  readonly accounts: Accounts;
  readonly #index: Index;
  readonly #first = Promise.withResolvers<void>();
  #isCounted = false;
  #progress: Progress | undefined;

  /** Without accounts nothing is counted, and nothing waits for a count. */
  constructor(index: Index, accounts: Accounts) {
    this.#index = index;
    this.accounts = accounts;
    if (accounts.isEmpty) this.#setCounted();
    else index.listener = this;
  }

  /** Before the first count nothing is known of what an account holds. */
  get isCounted(): boolean {
    return this.#isCounted;
  }

  /** Resolves after the first count. */
  get counted(): Promise<void> {
    return this.#first.promise;
  }

  #setCounted(): void {
    this.#isCounted = true;
    this.#first.resolve();
  }

  numberOf(namespace: string): number {
    return this.accounts.holderOf(namespace).number;
  }

  /** Adds the holder of a namespace to the entries of these blobs, if they are present (A1). */
  async hold(namespace: string, digests: readonly Digest[]): Promise<void> {
    const holder = this.accounts.holderOf(namespace);
    if (this.accounts.isEmpty || this.#holdsAll(holder, digests)) return;
    await Promise.all(digests.map((digest) => this.#holdOne(holder, digest)));
  }

  #holdsAll({ number }: Holder, digests: readonly Digest[]): boolean {
    return this.#index.ticksOf(digests, number).every((tick) => tick !== undefined);
  }

  async #holdOne(holder: Holder, { hash }: Digest): Promise<void> {
    const key = Buffer.from(hash, 'hex');
    for (;;) {
      const entry = this.#index.findByKey(key);
      if (!entry || belongsTo(entry, holder.number)) return;
      if (await this.#index.changeTenants(key, entry, this.accounts.listWith(entry.tenants, holder))) return;
      this.#index.refresh();
    }
  }

  blobChanged(key: Buffer, before: Tenants, after: Tenants, entry: Pick<Presence, 'size' | 'isFile'>): void {
    const [had, has] = [this.accountsOf(before), this.accountsOf(after)];
    const bytes = heldBytes(entry);
    for (const account of has) if (!had.includes(account)) this.#add(account, bytes, 'presence', key);
    for (const account of had) if (!has.includes(account)) this.#add(account, -bytes, 'presence', key);
  }

  /** Of a blob with that list, each once. */
  accountsOf(list: Tenants): readonly Account[] {
    const [first, ...others] = this.accounts.holdersIn(list);
    if (!first || others.length === 0) return first?.accounts ?? NO_ACCOUNTS;
    return [...new Set([first, ...others].flatMap(({ accounts }) => accounts))];
  }

  resultChanged(key: Buffer, bytes: number): void {
    for (const account of this.holderOf(key).accounts) this.#add(account, bytes, 'results', key);
  }

  labelChanged(address: LabelAddress, bytes: number): void {
    const { accounts } = this.accounts.holderOf(address.namespace);
    for (const account of accounts) this.#add(account, bytes, 'labels', labelKeyOf(address));
  }

  /** Of a result with that key. */
  holderOf(resultKey: Buffer): Holder {
    const address = resultAddressIn(resultKey);
    return address ? this.accounts.holderOf(address.namespace) : this.accounts.rest;
  }

  #add(account: Account, bytes: number, table: TableName, key: Buffer): void {
    account.bytes += bytes;
    const progress = this.#progress;
    if (progress && hasPassed(progress, table, key)) addTo(progress.sums, account, bytes);
  }

  /** `pause` is awaited after each page, with the time that the page took. It stops the count by throwing. */
  async count(pause: Pause): Promise<void> {
    if (this.accounts.isEmpty) return;
    const sums = new Map<Account, number>();
    try {
      await this.#eachPage('labels', sums, pause, async (rows) => this.#countLabels(rows, sums));
      await this.#eachPage('results', sums, pause, (rows) => this.#countResults(rows, sums));
      await this.#eachPage('presence', sums, pause, async (rows) => countBlobs(rows, sums, this));
      for (const account of this.accounts.all) account.bytes = sums.get(account) ?? 0;
      this.#setCounted();
    } finally {
      this.#progress = undefined;
    }
  }

  async #eachPage(
    table: TableName,
    sums: Map<Account, number>,
    pause: Pause,
    visit: (rows: readonly Row[]) => Promise<void>,
  ): Promise<void> {
    const progress: Progress = { table, last: FIRST, sums };
    this.#progress = progress;
    const most = table === 'results' ? TURN.results : undefined;
    for (let isLater = false; ; isLater = true) {
      const began = performance.now();
      this.#index.refresh();
      const rows = rowsFrom(this.#index.tables.table(table), progress.last, undefined, isLater, most);
      const last = rows.at(-1);
      if (!last) return;
      // Before anything is awaited: changes from now on find these entries passed.
      progress.last = last.key;
      await visit(rows);
      await pause(performance.now() - began);
    }
  }

  #countLabels(rows: readonly Row[], sums: Map<Account, number>): void {
    for (const address of rows.flatMap(({ key }) => labelAddressOf(key) ?? []))
      for (const account of this.accounts.holderOf(address.namespace).accounts)
        addTo(sums, account, labelBytes(address));
  }

  async #countResults(rows: readonly Row[], sums: Map<Account, number>): Promise<void> {
    const held: Promise<void>[] = [];
    for (const { key, value } of rows) {
      for (const account of this.holderOf(key).accounts) addTo(sums, account, value.length);
      const references = decodeResultRecord(key, value)?.references ?? [];
      held.push(this.hold(resultAddressIn(key)?.namespace ?? '', references));
    }
    await Promise.all(held);
  }
}

function countBlobs(rows: readonly Row[], sums: Map<Account, number>, holdings: Holdings): void {
  for (const { value, version = 0 } of rows) {
    const { tenants, ...entry } = decodePresence(value, version);
    for (const account of holdings.accountsOf(tenants)) addTo(sums, account, heldBytes(entry));
  }
}

/** In the order in which they are counted. */
const COUNTED: readonly TableName[] = ['labels', 'results', 'presence'];

function hasPassed({ table, last }: Progress, changed: TableName, key: Buffer): boolean {
  if (changed === table) return Buffer.compare(key, last) <= 0;
  return COUNTED.indexOf(changed) < COUNTED.indexOf(table);
}

function addTo(sums: Map<Account, number>, account: Account, bytes: number): void {
  sums.set(account, (sums.get(account) ?? 0) + bytes);
}
