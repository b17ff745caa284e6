// Changes of the index on their way into LMDB, one commit after another: what comes while one is under way waits, and goes
// with the next.
//
// LMDB's binding would take changes at any time and queue their commits by itself. But a commit that begins after one that
// could not be written is never answered, and holds a lock for ever (docs/decisions/0091). So no commit begins before the
// one in front of it has ended, and what a failure left behind is mended.

/** Hands its writes to LMDB in this turn; false when its condition did not hold. */
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

  /** `gatherMs`: how long a commit waits for more changes to go with it. `mend` is called after one has failed. */
  constructor(delayMs: number, repair: () => Promise<void>) {
    this.#delayMs = delayMs;
    this.#repair = repair;
  }

  /** Resolves after the commit is on the disk; rejects after what a failed one left behind is mended. */
  add(change: Change): Promise<boolean> {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    this.#pending.push({ change, resolve, reject });
    this.#running ??= this.#commitAll();
    return promise;
  }

  /** When nothing is waiting any more. */
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

/** What is left to do for those that failed. */
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

/** LMDB tells why a commit failed in a promise of its own, which must not be left alone. */
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
