// Work that is done once: before a long command, a wing asks whether another run executes the same action now, and waits
// for its result while that is worth it. Without such a wing, everybody runs.
//
// Guarantees: a lease is advice, so nothing here fails a run. A hit asks for none. A command that is known to be short
// asks for none either; any other command that runs for LEASE.longMs asks then, and is never stopped for a lease.
//
//             known to be long: ask ──────────┬─ granted ─> the command
//   miss ──>                                  ├─ held ────> wait ─> hit, granted, or run beside it
//             else: the command ── longMs ──> ask, so that others wait for this run
import type { Fence } from '../../core/action-lease.ts';
import type { Hash } from '../../core/digest.ts';
import type { Earlier } from '../../store/actions/outline.ts';
import type { RunRequest } from '../action/request.ts';
import type { HistoryEntry } from '../history/history.ts';
import { LEASE } from '../limits.ts';
import { knownRun } from './known-run.ts';

export type ActionLeaseMode = 'auto' | 'off';

/**
 * `held`: this run held the lease while its command ran. `waited`: it waited for another run, and ran only if that one
 * made no result. `hedged`: it no longer waited, and ran beside another run. `none`: no lease was asked for, or had.
 */
export type LeaseUse = 'held' | 'waited' | 'hedged' | 'none';

export interface AskedLease<Result> {
  /** How long the command took before, if that is known. */
  readonly knownMs: number | undefined;
  /** The command runs: a lease that another run holds is not waited for. */
  readonly isRunning: boolean;
  /** The result that another run has published since. */
  lookAgain(): Promise<Result | undefined>;
}

/** How a command ended. */
interface LeasedEnd {
  readonly exitCode: number;
  readonly signal?: string;
}

/** The lease of an action that asked. It is over with `ended` after a failure, else with `stored`. */
export interface LeaseInHand<Result> {
  readonly use: LeaseUse;
  /** The result of the run that this one waited for. */
  readonly hit?: Result | undefined;
  /** The fence that the run’s writes carry now. `lost`: another run has the lease, and a write that moves a shared label is refused. */
  fence(): Fence | 'lost' | undefined;
  /** The command has ended. After a failure the lease ends at once, with the reason. */
  ended(end: LeasedEnd, isFailure: boolean): void;
  /** Whether the local store has the result, and under which key it is being sent to the remote. */
  stored(published: boolean, sent: Hash | undefined): void;
  /** The command did not run to its end. Nothing happens if the lease is over. */
  abandon(): void;
}

/** How long a run has waited for others, also before it started again. */
export interface LeaseWait {
  totalMs: number;
}

interface LeaseQuestion<Result> {
  readonly request: RunRequest;
  /** False for a run that asks for no lease. */
  readonly isAsked: boolean;
  /** The history of this machine, newest first. */
  history(): readonly HistoryEntry[];
  /** What a remote told of the step's earlier action. */
  earlier(): Earlier | undefined;
  readonly lookAgain: AskedLease<Result>['lookAgain'];
  /** Undefined without a wing that asks. */
  ask(asked: AskedLease<Result>): Promise<LeaseInHand<Result> | undefined>;
}

export class ActionLease<Result> {
  readonly #question: LeaseQuestion<Result>;
  readonly #knownMs: number | undefined;
  readonly #isWanted: boolean;
  #inHand: LeaseInHand<Result> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  private constructor(question: LeaseQuestion<Result>) {
    const { request, isAsked, history, earlier } = question;
    const isWanted = isAsked && keepsResults(request);
    const known = isWanted ? knownRun(request, history(), earlier) : undefined;
    this.#question = question;
    this.#isWanted = known?.isKept ?? false;
    this.#knownMs = known?.commandMs;
  }

  /** Resolves when the command may run, or a hit was found. */
  static async before<Result>(question: LeaseQuestion<Result>): Promise<ActionLease<Result>> {
    const lease = new ActionLease(question);
    if (lease.#isWanted && (lease.#knownMs ?? 0) > LEASE.longMs) await lease.#ask(false);
    return lease;
  }

  get use(): LeaseUse {
    return this.#inHand?.use ?? 'none';
  }

  get hit(): Result | undefined {
    return this.#inHand?.hit;
  }

  fence(): Fence | 'lost' | undefined {
    return this.#inHand?.fence();
  }

  /** A command that turns out to be long asks now, so that later runs wait for this one. */
  commandStarted(): void {
    if (!this.#isWanted || this.#inHand) return;
    this.#timer = setTimeout(() => this.#ask(true).catch(() => {}), LEASE.longMs);
    this.#timer.unref();
  }

  commandEnded(end: LeasedEnd): void {
    clearTimeout(this.#timer);
    const isFailure = end.exitCode !== 0 && this.#question.request.cacheFailures !== true;
    this.#isOver ||= isFailure;
    this.#inHand?.ended(end, isFailure);
  }

  stored(published: boolean, sent: Hash | undefined): void {
    this.#isOver = true;
    this.#inHand?.stored(published, sent);
  }

  /** Ends the lease if nothing else has. */
  close(): void {
    clearTimeout(this.#timer);
    this.#isOver = true;
    this.#inHand?.abandon();
  }

  async #ask(isRunning: boolean): Promise<void> {
    const { ask, lookAgain } = this.#question;
    const inHand = await ask({ knownMs: this.#knownMs, isRunning, lookAgain });
    if (this.#isOver) inHand?.abandon();
    else this.#inHand = inHand;
  }
}

/** A run whose result is never kept is of no use to others. */
function keepsResults({ hermetic, keepUnproven }: RunRequest): boolean {
  return hermetic !== 'off' || keepUnproven !== 'no';
}
