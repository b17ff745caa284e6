// Asks for the lease of an action: first among the processes on this machine, then at the server.
// Guarantees: no failure of a lease stops the command. A run holds no job slot while it waits.
import { stepIdOf } from '../../../client/history/step-id.ts';
import type { KeyedAction } from '../../../client/inputs/keyed-action.ts';
import type { AskedLease, LeaseInHand } from '../../../client/lease/action-lease.ts';
import type { RunContext } from '../../../client/run/context.ts';
import type { Hit } from '../../../client/run/hit.ts';
import { InHand } from './in-hand.ts';
import type { HeldByOther, HeldLease, LeasePlace } from './place.ts';
import { leasesOf, type RunLeases } from './run-leases.ts';
import { type Turn, waitForTurn } from './turn.ts';
import { untilCancelled } from './until-cancelled.ts';

export async function lease(
  action: KeyedAction,
  context: RunContext,
  asked: AskedLease<Hit>,
): Promise<LeaseInHand<Hit>> {
  const { cache, caller } = context;
  const leases = await leasesOf(cache, caller);
  if (!leases) return new InHand({ use: 'none', cache, track() {} });
  const inHand = await new Asking(action, context, asked, leases).ask();
  leases.inHand.add(inHand);
  return inHand;
}

/** The questions of one action. */
class Asking {
  readonly #action: KeyedAction;
  readonly #context: RunContext;
  readonly #asked: AskedLease<Hit>;
  readonly #leases: RunLeases;
  #hasLeft = false;

  constructor(action: KeyedAction, context: RunContext, asked: AskedLease<Hit>, leases: RunLeases) {
    this.#action = action;
    this.#context = context;
    this.#asked = asked;
    this.#leases = leases;
  }

  async ask(): Promise<InHand> {
    const { key } = this.#action;
    const { knownMs } = this.#asked;
    const here = await this.#turnAt(this.#leases.local.of(key.hash, knownMs));
    if (here.outcome !== 'granted' && here.outcome !== 'none') return this.#done(here, undefined);
    const local = here.outcome === 'granted' ? here.grant : undefined;
    try {
      const there = await this.#turnThere();
      return await this.#done(there ?? { outcome: 'none' }, local);
    } catch (error) {
      await local?.release('cancelled');
      throw error;
    }
  }

  /** Undefined without a server that has leases. */
  async #turnThere(): Promise<Turn<Hit> | undefined> {
    const { key, request } = this.#action;
    const { cache, caller, report } = this.#context;
    const remote = await cache.openedRemote();
    const isAssay = remote && (remote.reportForm > 0 || remote.takesPublications);
    const isServer = isAssay && remote.usable && remote.takesWrites;
    if (!this.#leases.server || !isServer || !sharesByDefault(this.#action)) return undefined;
    const step = { key: key.hash, step: stepIdOf(request, caller), knownMs: this.#asked.knownMs };
    const why =
      'another run has taken over the lease of this action; what is stored beside the result stays here';
    return this.#turnAt(this.#leases.server.of(step, () => report({ type: 'lease-over', why })));
  }

  async #turnAt(place: LeasePlace): Promise<Turn<Hit>> {
    const { knownMs, isRunning, lookAgain } = this.#asked;
    const { leaseWait = { totalMs: 0 } } = this.#context;
    if (isRunning || knownMs === undefined) {
      const answer = await place.acquire(undefined, Number.POSITIVE_INFINITY);
      if (answer.outcome === 'granted') return answer;
      return { outcome: answer.outcome === 'held' ? 'hedged' : 'none' };
    }
    const { waits } = this.#leases;
    const throwIfCancelled = () => this.#context.throwIfCancelled?.();
    const cancellable: LeasePlace = {
      acquire: (after, mostMs) => place.acquire(after, mostMs),
      wait: (held, leftMs) => untilCancelled(waits.wait(place, held, leftMs), throwIfCancelled),
    };
    return waitForTurn(cancellable, {
      knownMs,
      waited: leaseWait,
      // A clock that is set back prolongs no wait.
      now: () => performance.now(),
      lookAgain,
      onWait: (held) => this.#leave(held),
      onTurn: () => this.#return(),
      throwIfCancelled,
    });
  }

  #leave({ holder, leftMs }: HeldByOther): void {
    const { report, leaveJobSlot } = this.#context;
    report({
      type: 'waiting-for-run',
      ...(holder !== undefined && { holder }),
      ...(leftMs !== undefined && { leftMs }),
    });
    if (!this.#hasLeft) leaveJobSlot?.();
    this.#hasLeft = true;
  }

  async #return(): Promise<void> {
    if (!this.#hasLeft) return;
    this.#hasLeft = false;
    await this.#context.acquireJobSlot?.();
  }

  async #done(turn: Turn<Hit>, local: HeldLease | undefined): Promise<InHand> {
    const { cache, signal, report } = this.#context;
    const { track } = this.#leases;
    const common = { cache, signal, local, track };
    if (turn.outcome === 'hit') {
      if (local) track(local.release('done'));
      return new InHand({ use: 'waited', hit: turn.result, cache, track });
    }
    await this.#return();
    if (turn.outcome === 'granted') return new InHand({ ...common, use: 'held', server: turn.grant });
    if (turn.outcome === 'hedged') return new InHand({ ...common, use: 'hedged' });
    if (turn.outcome === 'told') {
      const { holder = 'another run', end } = turn;
      const how = end.reason === 'failed' ? `failed (${end.detail ?? 'no reason given'})` : 'kept no result';
      report({ type: 'lease-over', why: `${holder} ran it and ${how}, so it runs here` });
      return new InHand({ ...common, use: 'waited' });
    }
    return new InHand({ ...common, use: local ? 'held' : 'none' });
  }
}

/** A result that stays on this machine is of no use to other machines. */
function sharesByDefault({ request: { hermetic, keepUnproven } }: KeyedAction): boolean {
  return keepUnproven === 'shared' || (hermetic !== 'off' && keepUnproven !== 'local');
}
