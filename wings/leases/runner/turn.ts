// Waits for a turn: the lease of an action, the result of the run that holds it, or the time when waiting costs more than
// running.
//
//   W1  A run asks and waits no longer than its own known duration and RUNNER.graceMs, for all holders together.
//   W2  It waits no longer for a holder than that one is expected to take, and a margin. It does not wait at all for one
//       that needs longer than the run itself.
//   W3  After the end of a lease, whatever its reason, the run looks for a result before it runs.
//   W4  After a holder that failed, or kept no result, all of its waiters run, and ask no more.
//   W5  Without an answer it runs. A server that has answered before is given a few seconds (server.ts).
//
// The clock is an argument, and nothing here is a timer: `LeasePlace.wait` alone takes time.
import { type Fence, isSameFence } from '../../../core/action-lease.ts';
import { RUNNER } from './limits.ts';
import type { Ended, Granted, HeldByOther, LeasePlace } from './place.ts';

interface TurnOptions<Result> {
  /** How long the action took when it last ran. */
  readonly knownMs: number;
  /** Counts what this run has waited, also for earlier holders. */
  readonly waited: { totalMs: number };
  now(): number;
  lookAgain(): Promise<Result | undefined>;
  /** Called before each wait. */
  onWait(held: HeldByOther): void;
  /** Called before the run asks again: it may have to queue for a place to run in. */
  onTurn(): Promise<void>;
  /** Throws if the run was cancelled. */
  throwIfCancelled(): void;
}

/** `told`: the holder has failed, or kept no result. */
export type Turn<Result> =
  | Granted
  | { readonly outcome: 'hit'; readonly result: Result }
  | { readonly outcome: 'told'; readonly end: Ended; readonly holder: string | undefined }
  | { readonly outcome: 'hedged' | 'none' };

type AfterWait<Result> = Turn<Result> | { readonly outcome: 'again'; readonly after: Fence | undefined };

export async function waitForTurn<Result>(
  place: LeasePlace,
  options: TurnOptions<Result>,
): Promise<Turn<Result>> {
  const { now, waited, knownMs } = options;
  let after: Fence | undefined;
  let askedMs = 0;
  for (let asked = 0; asked < RUNNER.holders; asked++) {
    if (asked > 0) await options.onTurn();
    const began = now();
    const answer = await place.acquire(
      after,
      Math.max(0, knownMs + RUNNER.graceMs - waited.totalMs - askedMs),
    );
    askedMs += now() - began;
    if (answer.outcome === 'granted' || answer.outcome === 'none') return answer;
    const next =
      answer.outcome === 'held'
        ? await waitFor(answer, place, options, askedMs)
        : await afterEnd(answer, undefined, options);
    if (next.outcome !== 'again') return next;
    after = next.after;
  }
  return { outcome: 'hedged' };
}

/** How long a run waits for this holder at most (W1, W2). `spentMs`: on questions and waits before. */
export function mostMs({ leftMs }: Pick<HeldByOther, 'leftMs'>, knownMs: number, spentMs: number): number {
  const own = knownMs - spentMs;
  const margin = Math.max(RUNNER.marginMs, knownMs * RUNNER.marginShare);
  if (leftMs === undefined) return Math.max(0, own + RUNNER.graceMs);
  return leftMs > own + margin ? 0 : Math.max(0, Math.min(own + RUNNER.graceMs, leftMs + margin));
}

async function waitFor<Result>(
  held: HeldByOther,
  place: LeasePlace,
  options: TurnOptions<Result>,
  askedMs: number,
): Promise<AfterWait<Result>> {
  const { now, waited, knownMs } = options;
  const before = waited.totalMs;
  const began = now();
  const limit = mostMs(held, knownMs, before + askedMs);
  if (limit === 0) return { outcome: 'hedged' };
  options.onWait(held);
  let isPublished = false;
  try {
    for (;;) {
      options.throwIfCancelled();
      const left = limit - (now() - began);
      if (left <= 0) return { outcome: 'hedged' };
      const answer = await place.wait(held, left);
      if (answer.outcome === 'ended') return await afterEnd(answer, held.holder, options);
      if (answer.outcome === 'none') return { outcome: 'hedged' };
      if (answer.outcome === 'published') {
        const result = await options.lookAgain();
        if (result !== undefined) return { outcome: 'hit', result };
        // The result holds for other facts than those on this machine.
        if (isPublished) return { outcome: 'hedged' };
        isPublished = true;
      } else if (!isSame(answer, held)) return { outcome: 'again', after: undefined };
    }
  } finally {
    waited.totalMs = before + (now() - began);
  }
}

function isSame(one: HeldByOther, other: HeldByOther): boolean {
  return one.fence ? isSameFence(one.fence, other.fence) : other.fence === undefined;
}

async function afterEnd<Result>(
  end: Ended,
  holder: string | undefined,
  { lookAgain }: TurnOptions<Result>,
): Promise<AfterWait<Result>> {
  const result = await lookAgain();
  if (result !== undefined) return { outcome: 'hit', result };
  if (end.reason === 'failed' || end.reason === 'unkept') return { outcome: 'told', end, holder };
  return { outcome: 'again', after: end.reason === 'done' ? end.fence : undefined };
}
