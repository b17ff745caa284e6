// Asks for the lease of an action: first among the processes on this machine, then at the server.
// Whatever goes wrong, the command runs. A run that waits holds no job slot.
import { stepIdOf } from '../../../client/history/step-id.ts';
import type { KeyedAction } from '../../../client/inputs/keyed-action.ts';
import type { AskedLease, LeaseInHand } from '../../../client/lease/action-lease.ts';
import type { Cache } from '../../../client/run/caches.ts';
import type { RunContext } from '../../../client/run/context.ts';
import type { Hit } from '../../../client/run/hit.ts';
import { placeOf } from '../../../client/run/run-origin.ts';
import { InHand } from './in-hand.ts';
import { RUNNER } from './limits.ts';
import { LocalLeases } from './local.ts';
import type { HeldByOther, HeldLease, LeasePlace } from './place.ts';
import { ServerLeases } from './server.ts';
import { type Turn, waitForTurn } from './turn.ts';
import { untilCancelled } from './until-cancelled.ts';

/** The leases of one run, which close with its caches. */
interface RunLeases {
  readonly local: LocalLeases;
  readonly server: ServerLeases | undefined;
  readonly inHand: Set<InHand>;
  /** Releases on their way. */
  readonly releases: Set<Promise<void>>;
  waiting: number;
  close(): Promise<void>;
}

const opened = new WeakMap<Cache, Promise<RunLeases | undefined>>();

export async function lease(
  action: KeyedAction,
  context: RunContext,
  asked: AskedLease<Hit>,
): Promise<LeaseInHand<Hit>> {
  const { cache, caller } = context;
  const leases = await leasesOf(cache, caller);
  if (!leases) return new InHand({ use: 'none', cache, track() {} });
  const asking = new Asking(action, context, asked, leases);
  const inHand = await asking.ask();
  leases.inHand.add(inHand);
  return inHand;
}

function leasesOf(cache: Cache, caller: RunContext['caller']): Promise<RunLeases | undefined> {
  const known = opened.get(cache);
  if (known) return known;
  const leases = cache.openBeside(async ({ storeFolder, remoteUrl, token }): Promise<RunLeases> => {
    const holder = (placeOf(caller) ?? 'a run').slice(0, MOST_HOLDER);
    const server = remoteUrl && new ServerLeases({ url: remoteUrl, token, holder });
    const inHand = new Set<InHand>();
    const releases = new Set<Promise<void>>();
    return {
      local: new LocalLeases(storeFolder),
      server,
      inHand,
      releases,
      waiting: 0,
      async close() {
        for (const one of inHand) one.close();
        await withinTime(Promise.all(releases));
        await server?.close();
      },
    };
  });
  opened.set(cache, leases);
  return leases;
}

const MOST_HOLDER = 100;

/** Who waits learns by the missing heartbeats what a lost release would have told. */
async function withinTime(work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, RUNNER.releaseMs);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** One action asks. */
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
    const { leaseWait = { totalMs: 0 }, now } = this.#context;
    if (isRunning || knownMs === undefined || this.#leases.waiting >= RUNNER.waits) {
      const answer = await place.acquire(undefined);
      return answer.outcome === 'granted' ? answer : { outcome: 'none' };
    }
    const throwIfCancelled = () => this.#context.throwIfCancelled?.();
    const cancellable: LeasePlace = {
      acquire: (after) => place.acquire(after),
      wait: (held, waitMs) => untilCancelled(place.wait(held, waitMs), throwIfCancelled),
    };
    this.#leases.waiting++;
    try {
      return await waitForTurn(cancellable, {
        knownMs,
        waited: leaseWait,
        now,
        lookAgain,
        onWait: (held) => this.#leave(held),
        onTurn: () => this.#return(),
        throwIfCancelled,
      });
    } finally {
      this.#leases.waiting--;
    }
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
    const { releases } = this.#leases;
    const track = (release: Promise<void>) => {
      releases.add(release);
      void release.finally(() => releases.delete(release));
    };
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
