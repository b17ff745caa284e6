// The server answers acquire, wait, heartbeat and release, over HTTP and gRPC alike (docs/PROTOCOLS.md).
// Guarantees: a lease is of the namespace that the token writes, so a pull request never holds main's and never waits
// for it. The name of a holder is told only to those who may read there. Every limit is an answer: no lease, run.
import { ACTION_LEASE_MARK, fenceText } from '../../core/action-lease.ts';
import { AssayError } from '../../core/errors.ts';
import type { Identity } from '../../server/access/identity.ts';
import type { RequestContext, ServerContext } from '../../server/context.ts';
import { earlierOfStep } from '../../server/history/step-documents.ts';
import type { LeaseEvent } from '../../server/request/observer.ts';
import type { ActionLeases, LeaseAddress, LeaseState } from '../../store/action-leases.ts';
import { STORE } from '../../store/limits.ts';
import {
  addressIn,
  afterIn,
  expectedIn,
  fenceIn,
  holderIn,
  holdingIn,
  idIn,
  type LeaseFields,
  releaseIn,
  stepIdIn,
  waitIn,
} from './fields.ts';
import { LEASES } from './limits.ts';
import { LeaseMetrics } from './metrics.ts';
import { TokenLeases } from './token-leases.ts';
import { leaseName, Waiters } from './waiters.ts';

export type LeaseOutcome = 'granted' | 'held' | 'ended' | 'published' | 'lost' | 'released' | 'none';

export interface LeaseAnswer {
  readonly mark: string;
  readonly outcome: LeaseOutcome;
  readonly fence?: string;
  readonly holder?: string;
  readonly heldMs?: number;
  readonly leftMs?: number;
  readonly expiresInMs?: number;
  readonly heartbeatMs?: number;
  readonly expectedMs?: number;
  readonly reason?: string;
  readonly detail?: string;
  readonly why?: string;
  readonly retryMs?: number;
}

/** The request, whose client may leave before the answer. */
export interface LeaseCaller extends Pick<RequestContext, 'server' | 'store'> {
  readonly isGone: boolean;
}

export type LeaseMethod = 'acquire' | 'wait' | 'heartbeat' | 'release';

export class LeaseService {
  readonly waiters: Waiters;
  readonly #leases: ActionLeases;
  readonly #tokens: TokenLeases;
  readonly #metrics: LeaseMetrics;
  readonly #now: () => number;

  constructor(
    { wholeStore, lifecycle, capacity, metrics, accounting }: ServerContext,
    now = () => performance.now(),
  ) {
    if (!wholeStore.actionLeases) throw new AssayError('ASSAY_INTERNAL', 'the store has no leases');
    this.#leases = wholeStore.actionLeases;
    this.#now = now;
    this.#tokens = new TokenLeases(now);
    const tell = (who: Identity, event: LeaseEvent) => accounting.leased(who, event);
    this.#metrics = metrics.add((registry) => new LeaseMetrics(registry, () => this.waiters.count, tell));
    this.waiters = new Waiters({
      leases: this.#leases,
      // Most of them have a connection of their own, and too many connections are pressure.
      openPolls: Math.min(LEASES.openPolls, Math.floor(capacity.maxConnections * LEASES.openPollsShare)),
      now,
      refusal: () => {
        if (lifecycle.isLeaving || lifecycle.isStopping) return 'the server stops';
        return capacity.isUnderPressure ? 'the server is busy' : undefined;
      },
    });
  }

  async acquire(caller: LeaseCaller, fields: LeaseFields): Promise<LeaseAnswer> {
    const address = ownAddress(caller, fields);
    const [id, holder, after] = [idIn(fields), holderIn(fields), afterIn(fields)];
    const token = caller.store.identity.name;
    const expectedMs = expectedIn(fields) ?? (await expectedBy(caller, fields));
    if (!this.#tokens.hasRoom(token)) {
      this.#metrics.refused();
      return answer('none', { why: `this token has ${LEASES.perToken} leases` });
    }
    const { outcome, lease, isRepeated, replaced } = await caller.server.lifecycle.whileWriting(() =>
      this.#leases.acquire(address, { id, holder, expectedMs, after }),
    );
    if (outcome === 'ended') return ended(caller, address, lease);
    if (outcome === 'held') {
      this.#metrics.held();
      return held(caller, address, lease);
    }
    if (!isRepeated) this.#metrics.granted(caller.store.identity, replaced);
    this.#tokens.count(token, leaseName(address));
    this.waiters.wake(address);
    return answer('granted', {
      fence: fenceText(lease.fence),
      heartbeatMs: STORE.actionHeartbeatMs,
      expiresInMs: lease.expiresInMs,
      ...(lease.expectedMs !== undefined && { expectedMs: lease.expectedMs }),
    });
  }

  async wait(caller: LeaseCaller, fields: LeaseFields): Promise<LeaseAnswer> {
    const address = ownAddress(caller, fields);
    const [fence, waitMs] = [fenceText(fenceIn(fields)), waitIn(fields)];
    const [lease] = await this.#leases.states([address]);
    if (!lease) return answer('ended', { fence, reason: 'expired' });
    if (lease.end) return ended(caller, address, lease);
    if (fenceText(lease.fence) !== fence) return held(caller, address, lease);
    const others = caller.store
      .lookedUpIn(addressIn(fields).namespace)
      .filter((namespace) => namespace !== address.namespace);
    const wait = { address, lease, others, waitMs, isGone: () => caller.isGone };
    const began = this.#now();
    const found = await this.waiters.wait(wait);
    this.#metrics.waited(caller.store.identity, found, wait, this.#now() - began);
    if (found.end === 'gone') return answer('none', { why: 'the client is gone' });
    if (found.end === 'refused') return answer('none', { why: found.why, retryMs: LEASES.retryMs });
    if (found.end === 'published') return answer('published', { fence });
    if (!found.lease) return answer('ended', { fence, reason: 'expired' });
    return found.end === 'ended' ? ended(caller, address, found.lease) : held(caller, address, found.lease);
  }

  async heartbeat(caller: LeaseCaller, fields: LeaseFields): Promise<LeaseAnswer> {
    const address = ownAddress(caller, fields);
    const holding = holdingIn(fields);
    const isHeld = await this.#leases.heartbeat(address, holding);
    if (!isHeld) return this.#lost(address);
    this.#tokens.count(caller.store.identity.name, leaseName(address));
    const [lease] = await this.#leases.states([address]);
    return lease && !lease.end ? held(caller, address, lease) : this.#lost(address);
  }

  async release(caller: LeaseCaller, fields: LeaseFields): Promise<LeaseAnswer> {
    const address = ownAddress(caller, fields);
    const [holding, release] = [holdingIn(fields), releaseIn(fields)];
    const isReleased = await caller.server.lifecycle.whileWriting(() =>
      this.#leases.release(address, holding, release),
    );
    if (!isReleased) return this.#lost(address);
    this.waiters.wake(address);
    return answer('released');
  }

  async #lost(address: LeaseAddress): Promise<LeaseAnswer> {
    const [newest] = await this.#leases.states([address]);
    return answer('lost', newest && { fence: fenceText(newest.fence) });
  }

  /** Removes what ended long ago. Any server of a fleet may. */
  async forgetEnded(): Promise<void> {
    while ((await this.#leases.forgetEnded(LEASES.forgottenAtOnce)) === LEASES.forgottenAtOnce);
  }
}

function ownAddress({ store }: LeaseCaller, fields: LeaseFields): LeaseAddress {
  return store.own(addressIn(fields));
}

/** How long the newest run of the step took that was reported where this token looks for results. */
async function expectedBy({ store, server }: LeaseCaller, fields: LeaseFields): Promise<number | undefined> {
  const step = stepIdIn(fields);
  const { history } = server.wholeStore;
  if (!step || !history) return undefined;
  const actions = await earlierOfStep(history, step, store.reportedIn(addressIn(fields).namespace));
  return actions.find(({ ranMs }) => ranMs !== undefined)?.ranMs;
}

function held(caller: LeaseCaller, address: LeaseAddress, lease: LeaseState): LeaseAnswer {
  const { fence, heldMs, expiresInMs, expectedMs } = lease;
  return answer('held', {
    fence: fenceText(fence),
    ...holderOf(caller, address, lease),
    heldMs: Math.round(heldMs),
    ...(expectedMs !== undefined && { leftMs: Math.max(0, Math.round(expectedMs - heldMs)), expectedMs }),
    expiresInMs: Math.round(expiresInMs),
    heartbeatMs: STORE.actionHeartbeatMs,
  });
}

function ended(caller: LeaseCaller, address: LeaseAddress, lease: LeaseState): LeaseAnswer {
  const { reason = 'expired', detail } = lease.end ?? {};
  const isTold = detail !== undefined && caller.store.mayRead(address.namespace);
  return answer('ended', { fence: fenceText(lease.fence), reason, ...(isTold && { detail }) });
}

function holderOf({ store }: LeaseCaller, { namespace }: LeaseAddress, { holder }: LeaseState) {
  return store.mayRead(namespace) ? { holder } : {};
}

function answer(outcome: LeaseOutcome, more: Partial<LeaseAnswer> = {}): LeaseAnswer {
  return { mark: ACTION_LEASE_MARK, outcome, ...more };
}
