// How much of the store reported runs may take.
// Guarantee: the history grows by no report beyond HISTORY.room times its share of the store, by a count that is
// at most a minute old. Of an account with a quota, the reports of a day have at most the same share of that quota: a
// pull request that reports very much neither takes the space of others nor pushes out their runs.
import { AssayError } from '../../../core/errors.ts';
import type { Namespace } from '../../../core/namespace.ts';
import { HISTORY_DOCUMENTS, historyShare } from '../../../server/limits.ts';
import { type AccountUse, isHolderAtOrBelow } from '../../../store/accounts.ts';
import type { History } from '../../../store/history.ts';

const DAY = 24 * 60 * 60 * 1000;

interface RoomOf {
  readonly history: Pick<History, 'usedBytes'>;
  /** Of the whole store. */
  readonly limit: number;
  readonly accounts: readonly AccountUse[];
  readonly now: number;
}

export class ReportRoom {
  #counted = { at: Number.NEGATIVE_INFINITY, bytes: 0 };
  #day = { began: Number.NEGATIVE_INFINITY, bytesOf: new Map<string, number>() };

  /** Throws ASSAY_STORE_FULL, or counts the bytes. */
  async take(namespace: Namespace, bytes: number, { history, limit, accounts, now }: RoomOf): Promise<void> {
    if (Math.abs(now - this.#counted.at) >= HISTORY_DOCUMENTS.countMs)
      this.#counted = { at: now, bytes: await history.usedBytes() };
    if (Math.abs(now - this.#day.began) >= DAY) this.#day = { began: now, bytesOf: new Map() };
    if (this.#counted.bytes + bytes > historyShare(limit) * HISTORY_DOCUMENTS.room)
      throw full('the history of runs is full; its oldest documents are removed within minutes');
    const { bytesOf } = this.#day;
    const own = accounts.filter(({ namespaces }) =>
      namespaces.some((base) => isHolderAtOrBelow(namespace, base)),
    );
    for (const { name, quota } of own)
      if ((bytesOf.get(name) ?? 0) + bytes > quota * HISTORY_DOCUMENTS.share)
        throw full(`the runs that ${name} may report in a day are reported`);
    this.#counted.bytes += bytes;
    for (const { name } of own) bytesOf.set(name, (bytesOf.get(name) ?? 0) + bytes);
  }
}

function full(detail: string): AssayError {
  return new AssayError('ASSAY_STORE_FULL', detail);
}
