// The commit queue: changes of the index, committed one batch after another (I5 of index.ts).
// A change that is added while a commit runs goes with the next one.
//
// LMDB's binding would queue commits itself. But a commit that begins after a failed one never ends, and
// holds a lock for ever (docs/decisions/0091). So a commit begins only after the previous one has ended and,
// if it failed, was repaired.

/** Passes its writes to LMDB synchronously. Resolves to false if its condition does not hold. */
export type Change = () => Promise<boolean>;

interface PendingChange {
  readonly change: Change;
  readonly resolve: (isDone: boolean) => void;
  readonly reject: (reason: unknown) => void;
}

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
      const rejections = await commit(batch);
      if (rejections.length > 0) await this.#repair();
      for (const refuse of rejections) refuse();
    }
    this.#running = undefined;
  }
}

/** Resolves to the rejections of the failed changes, to be called after the repair. */
async function commit(batch: readonly PendingChange[]): Promise<(() => void)[]> {
  const rejections: (() => void)[] = [];
  const answers = batch.map(async ({ change, resolve, reject }) => {
    try {
      resolve(await change());
    } catch (error) {
      const reason = await reasonOf(error);
      rejections.push(() => reject(reason));
    }
  });
  await Promise.all(answers);
  return rejections;
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

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    if (milliseconds === 0) setImmediate(resolve);
    else setTimeout(resolve, milliseconds);
  });
}
