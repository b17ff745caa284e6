// Requests that wait for a lease to end. All of them share one timer, which reads their leases from the store: so a
// lease that ends at another server, or by its heartbeats, ends their wait, too. A release at this server wakes them at once.
//
// Guarantees:
// - A wait ends within its time, when its client is gone, and when the server stops or is under pressure: waits are the
//   first that a busy server gives up, because a client can ask again, or run the action.
// - A wait goes on while the leases can't be read: PostgreSQL may be away for seconds, and then nobody need run.
// - Their number is bounded, for each lease and in all.
import { isSameFence } from '../../core/action-lease.ts';
import type { Namespace } from '../../core/namespace.ts';
import type { ActionLeases, LeaseAddress, LeaseState } from '../../store/action-leases.ts';
import { LEASES } from './limits.ts';

/** `refused`: no lease, with the reason. `gone`: the client does not wait any more. */
export type WaitEnd =
  | { readonly end: 'ended' | 'held' | 'published'; readonly lease: LeaseState | undefined }
  | { readonly end: 'refused'; readonly why: string }
  | { readonly end: 'gone' };

export interface Wait {
  readonly address: LeaseAddress;
  /** The lease that it waits for. */
  readonly lease: LeaseState;
  /** Where else a result of the action would be found. */
  readonly others: readonly Namespace[];
  readonly waitMs: number;
  isGone(): boolean;
}

interface Waiting extends Wait {
  readonly until: number;
  /** The leases of the other namespaces when the wait began. */
  readonly before: readonly (LeaseState | undefined)[];
  settle(end: WaitEnd): void;
}

export interface WaitersOptions {
  readonly leases: ActionLeases;
  /** Requests that wait at once. */
  readonly openPolls: number;
  readonly now: () => number;
  /** Why nobody may wait now. */
  readonly refusal: () => string | undefined;
}

export class Waiters {
  readonly #leases: ActionLeases;
  readonly #openPolls: number;
  readonly #now: () => number;
  readonly #refusal: () => string | undefined;
  /** By the key of the action, in all namespaces. */
  readonly #waiting = new Map<string, Set<Waiting>>();
  #count = 0;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  constructor({ leases, openPolls, now, refusal }: WaitersOptions) {
    this.#leases = leases;
    this.#openPolls = openPolls;
    this.#now = now;
    this.#refusal = refusal;
  }

  /** Requests that wait now. */
  get count(): number {
    return this.#count;
  }

  async wait(wait: Wait): Promise<WaitEnd> {
    const why = this.#refusal() ?? this.#fullness(wait.address);
    if (why !== undefined) return { end: 'refused', why };
    const { promise, resolve } = Promise.withResolvers<WaitEnd>();
    const others = wait.others.map((namespace) => ({ namespace, key: wait.address.key }));
    this.#count++;
    try {
      const before = others.length === 0 ? [] : await this.#leases.states(others);
      const waiting = { ...wait, before, until: this.#now() + wait.waitMs, settle: resolve };
      this.#add(waiting);
      try {
        return await promise;
      } finally {
        this.#remove(waiting);
      }
    } finally {
      this.#count--;
    }
  }

  #fullness(address: LeaseAddress): string | undefined {
    if (this.#count >= this.#openPolls) return `${this.#openPolls} requests wait for leases already`;
    let size = 0;
    for (const one of this.#of(address.key)) if (one.address.namespace === address.namespace) size++;
    return size >= LEASES.waitersPerLease ? `${size} requests wait for this lease already` : undefined;
  }

  #add(waiting: Waiting): void {
    const { key } = waiting.address;
    const set = this.#waiting.get(key) ?? new Set();
    this.#waiting.set(key, set.add(waiting));
    this.#lookLater(0);
  }

  #remove(waiting: Waiting): void {
    const { key } = waiting.address;
    const set = this.#waiting.get(key);
    set?.delete(waiting);
    if (set?.size === 0) this.#waiting.delete(key);
  }

  /** A lease of this action has ended here, or another one was granted. */
  wake({ key }: LeaseAddress): void {
    void this.#look([...this.#of(key)]);
  }

  /** A result, or a path set that leads to one, was stored under this key. */
  published(namespace: string, key: string): void {
    for (const { others, settle, lease } of this.#of(key))
      if (others.some((other) => other === namespace)) settle({ end: 'published', lease });
  }

  #of(key: string): Iterable<Waiting> {
    return this.#waiting.get(key) ?? [];
  }

  #all(): Waiting[] {
    return [...this.#waiting.values()].flatMap((set) => [...set]);
  }

  #lookLater(delayMs: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#looking ??= this.#look(this.#all()).finally(() => {
        this.#looking = undefined;
        this.#lookAgain();
      });
    }, delayMs);
  }

  /** At the end of the next wait, or earlier. */
  #lookAgain(): void {
    const ends = this.#all().map(({ until }) => until - this.#now());
    if (ends.length > 0) this.#lookLater(Math.max(0, Math.min(LEASES.lookMs, ...ends)));
  }

  async #look(waiting: readonly Waiting[]): Promise<void> {
    const why = this.#refusal();
    const now = this.#now();
    const asked = waiting.filter((one) => {
      if (one.isGone()) one.settle({ end: 'gone' });
      else if (why !== undefined) one.settle({ end: 'refused', why });
      else return true;
      return false;
    });
    if (asked.length === 0) return;
    const states = await this.#statesOf(asked).catch(() => undefined);
    for (const one of asked) {
      if (states) this.#judge(one, states, now);
      // Nobody knows more: the client asks again, and learns whether the leases can be read then.
      else if (now >= one.until) one.settle({ end: 'held', lease: one.lease });
    }
  }

  async #statesOf(waiting: readonly Waiting[]): Promise<ReadonlyMap<string, LeaseState | undefined>> {
    const addresses = new Map<string, LeaseAddress>();
    for (const { address, others } of waiting)
      for (const namespace of [address.namespace, ...others]) {
        const one = { namespace, key: address.key };
        addresses.set(leaseName(one), one);
      }
    const states = await this.#leases.states([...addresses.values()]);
    return new Map([...addresses.keys()].map((name, index) => [name, states[index]]));
  }

  #judge(one: Waiting, states: ReadonlyMap<string, LeaseState | undefined>, now: number): void {
    const { address, lease: awaited, others, before, until, settle } = one;
    const lease = states.get(leaseName(address));
    const isPublished = others.some((namespace, index) => {
      const other = states.get(leaseName({ namespace, key: address.key }));
      return other?.end?.reason === 'done' && !wasSeen(other, before[index]);
    });
    if (isPublished) settle({ end: 'published', lease });
    else if (!lease || lease.end) settle({ end: 'ended', lease });
    else if (!isSameFence(awaited.fence, lease.fence) || now >= until) settle({ end: 'held', lease });
  }
}

/** The other lease had ended before the wait began. */
function wasSeen(state: LeaseState, before: LeaseState | undefined): boolean {
  return before?.end?.reason === 'done' && isSameFence(before.fence, state.fence);
}

export function leaseName({ namespace, key }: LeaseAddress): string {
  return `${namespace}\0${key}`;
}
