// The other processes that read the index, as far as they keep LMDB from using pages again.
// A dead one is forgotten within STORE.readerCheckMs. A live one lets the file grow by a bounded amount.
//
// A read transaction lasts for one turn of the event loop. But a process may be killed or stopped in the middle of
// one, and LMDB keeps every page that it may still read (docs/decisions/0455). The binding looks for dead readers
// every ten minutes, and leaves a stopped one alone.
import type { RootDatabase } from 'lmdb';
import { AssayError } from '../../../core/errors.ts';
import { STORE } from '../../limits.ts';

interface Reader {
  readonly pid: number;
  readonly transaction: number;
}

/** The oldest transaction that another process reads, since when, and how large the file was then. */
interface Oldest extends Reader {
  readonly since: number;
  readonly fileBytes: number;
}

export class OtherReaders {
  readonly #fileBytes: () => number;
  readonly #now: () => number;
  #until = 0;
  #oldest: Oldest | undefined;

  constructor(fileBytes: () => number, now: () => number = performance.now.bind(performance)) {
    this.#fileBytes = fileBytes;
    this.#now = now;
  }

  /** To be called before each write. Looks at most every STORE.readerCheckMs. */
  check(root: Pick<RootDatabase, 'readerCheck' | 'readerList'>): void {
    const now = this.#now();
    if (now < this.#until) return;
    this.#until = now + STORE.readerCheckMs;
    root.readerCheck();
    const found = oldestIn(root.readerList());
    if (isSame(found, this.#oldest)) return;
    this.#oldest = found && { ...found, since: now, fileBytes: this.#fileBytes() };
  }

  /** Throws if a stopped reader has let the file grow by as much as it may. For writes that need new pages. */
  refuseIfPinned(): void {
    if (!this.#oldest) return;
    const { pid, since, fileBytes } = this.#oldest;
    if (this.#now() - since < STORE.pinnedMs) return;
    const mayGrow = Math.max(STORE.pinnedBytes, fileBytes / STORE.indexSlack);
    if (this.#fileBytes() - fileBytes < mayGrow) return;
    throw new AssayError(
      'ASSAY_STORE_FULL',
      `process ${pid} has been stopped in the middle of a read, so the index can't use its free pages; continue or end that process`,
    );
  }
}

function isSame(one: Reader | undefined, other: Reader | undefined): boolean {
  return one?.pid === other?.pid && one?.transaction === other?.transaction;
}

/** LMDB's text: a heading, then the PID, the thread and the transaction of each reader; "-" if it reads nothing. */
function oldestIn(list: string): Reader | undefined {
  return list
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .map(([pid, , transaction]) => ({ pid: Number(pid), transaction: Number(transaction) }))
    .filter(({ pid, transaction }) => pid !== process.pid && Number.isInteger(transaction))
    .sort((one, other) => one.transaction - other.transaction)
    .at(0);
}
