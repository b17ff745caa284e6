// Waits for a turn: the lease of an action, the result of the run that holds it, or the time when waiting costs more than
// running.
//
//   W1  A run waits no longer than its own known duration and RUNNER.graceMs, for all holders together.
//   W2  It waits no longer for a holder than that one is expected to take, and a margin. It does not wait at all for one
//       that needs longer than the run itself.
//   W3  After the end of a lease, whatever its reason, the run looks for a result before it runs.
//   W4  A holder that failed, or kept no result, is believed: its waiters run, all of them, and ask no more.
//   W5  Without an answer it runs. A server that has answered before is given a few seconds (server.ts).
//
// The clock is an argument, and nothing here is a timer: `LeasePlace.wait` alone takes time.
import type { Fence } from '../../../core/action-lease.ts';
import { RUNNER } from './limits.ts';
import type { Ended, Granted, HeldByOther, LeasePlace } from './place.ts';

export interface TurnOptions<Result> {
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

/** `told`: the holder came to nothing. */
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
  let after: Fence | undefined;
  for (let asked = 0; asked < RUNNER.holders; asked++) {
    if (asked > 0) await options.onTurn();
    const answer = await place.acquire(after);
    if (answer.outcome === 'granted' || answer.outcome === 'none') return answer;
    const next =
      answer.outcome === 'held'
        ? await waitFor(answer, place, options)
        : await afterEnd(answer, undefined, options);
    if (next.outcome !== 'again') return next;
    after = next.after;
  }
  return { outcome: 'hedged' };
}

/** How long a run waits for this holder at most (W1, W2). */
export function mostMs({ leftMs }: Pick<HeldByOther, 'leftMs'>, knownMs: number, waitedMs: number): number {
  const own = knownMs - waitedMs;
  const margin = Math.max(RUNNER.marginMs, knownMs * RUNNER.marginShare);
  if (leftMs === undefined) return Math.max(0, own + RUNNER.graceMs);
  return leftMs > own + margin ? 0 : Math.max(0, Math.min(own + RUNNER.graceMs, leftMs + margin));
}

async function waitFor<Result>(
  held: HeldByOther,
  place: LeasePlace,
  options: TurnOptions<Result>,
): Promise<AfterWait<Result>> {
  const { now, waited, knownMs } = options;
  const before = waited.totalMs;
  const began = now();
  const limit = mostMs(held, knownMs, before);
  if (limit === 0) return { outcome: 'hedged' };
  options.onWait(held);
  let isPublished = false;
  try {
    for (;;) {
      options.throwIfCancelled();
      const left = limit - (now() - began);
      if (left <= 0) return { outcome: 'hedged' };
      const answer = await place.wait(held, Math.min(left, RUNNER.pollMs));
      if (answer.outcome === 'ended') return await afterEnd(answer, held.holder, options);
      if (answer.outcome === 'none') return { outcome: 'hedged' };
      if (answer.outcome === 'published') {
        const result = await options.lookAgain();
        if (result !== undefined) return { outcome: 'hit', result };
        // It holds for other facts than those here.
        if (isPublished) return { outcome: 'hedged' };
        isPublished = true;
      } else if (!isSame(answer, held)) return { outcome: 'again', after: undefined };
    }
  } finally {
    waited.totalMs = before + (now() - began);
  }
}

function isSame(one: HeldByOther, other: HeldByOther): boolean {
  return one.fence?.epoch === other.fence?.epoch && one.fence?.number === other.fence?.number;
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
