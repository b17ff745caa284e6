// The commit queue: changes of the index, committed one batch after another (I5 of index.ts).
// A change that is added while a commit runs goes with the next one.
//
// LMDB's binding would queue commits itself. But a commit that begins after a failed one never ends, and
// holds a lock for ever (docs/decisions/0091). So a commit begins only after the previous one has ended and,
// if it failed, was repaired.
//
// LMDB refuses a commit when it finds its own free list in memory wrong (docs/decisions/0473). It does so before it
// writes the header, so nothing of that commit is in the index. It then forgets that list and reads it again. So
// the changes are committed once more.

/** Passes its writes to LMDB synchronously. Resolves to false if its condition does not hold. */
export type Change = () => Promise<boolean>;

interface PendingChange {
  readonly change: Change;
  readonly resolve: (isDone: boolean) => void;
  readonly reject: (reason: unknown) => void;
}

interface FailedChange extends PendingChange {
  readonly reason: unknown;
}

/** MDB_BAD_TXN: LMDB gave the transaction up before it wrote the header. No other code says that for certain. */
const NOTHING_WRITTEN = -30782;

export class CommitQueue {
  readonly #delayMs: number;
  readonly #repair: () => Promise<void>;
  #pending: PendingChange[] = [];
  #running: Promise<void> | undefined;

  /** `delayMs`: how long a commit waits for more changes. `repair` runs after a failed commit. */
  constructor(delayMs: number, repair: () => Promise<void>) {
    this.#delayMs = delayMs;
    this.#repair = repair;
  }

  /** Resolves after the commit is on the disk. Rejects after a failed commit was repaired. */
  add(change: Change): Promise<boolean> {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    this.#pending.push({ change, resolve, reject });
    this.#running ??= this.#commitAll();
    return promise;
  }

  /** Resolves when no change is pending. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #commitAll(): Promise<void> {
    while (this.#pending.length > 0) {
      await pause(this.#delayMs);
      const batch = this.#pending;
      this.#pending = [];
      const failed = await this.#commit(batch);
      const isRepeatable = ({ reason }: FailedChange) => codeOf(reason) === NOTHING_WRITTEN;
      const again = await this.#commit(failed.filter(isRepeatable));
      const given = [...failed.filter((change) => !isRepeatable(change)), ...again];
      for (const { reject, reason } of given) reject(reason);
    }
    this.#running = undefined;
  }

  /** Resolves to the failed changes, after the repair. */
  async #commit(batch: readonly PendingChange[]): Promise<FailedChange[]> {
    const failed = await commit(batch);
    if (failed.length > 0) await this.#repair();
    return failed;
  }
}

async function commit(batch: readonly PendingChange[]): Promise<FailedChange[]> {
  const failed: FailedChange[] = [];
  const answers = batch.map(async (pending) => {
    try {
      pending.resolve(await pending.change());
    } catch (error) {
      failed.push({ ...pending, reason: await reasonOf(error) });
    }
  });
  await Promise.all(answers);
  return failed;
}

/** LMDB reports the reason in a promise of its own, whose rejection must be handled. */
async function reasonOf(error: unknown): Promise<unknown> {
  if (!(error instanceof Error && 'commitError' in error)) return error;
  try {
    return await error.commitError;
  } catch (reason) {
    return reason;
  }
}

function codeOf(reason: unknown): unknown {
  return reason instanceof Error && 'code' in reason ? reason.code : undefined;
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    if (milliseconds === 0) setImmediate(resolve);
    else setTimeout(resolve, milliseconds);
  });
}
