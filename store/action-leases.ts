// Action leases: which run executes an action now, for everybody else who misses it.
// Guarantees: of two that ask at once, one is granted the lease. Each grant has a greater fence than all before it, also
// in a store that was restored from a copy. A lease ends by its release, or when its heartbeats stop.
//
// A lease is advice: whoever gets none runs the action all the same. What holds is the fence: a label that is written
// under a lease is refused unless that lease is the newest of its action (layers/labels.ts).
import type { EndReason, Fence, ReleaseReason } from '../core/action-lease.ts';
import type { Hash } from '../core/digest.ts';
import type { Namespace } from '../core/namespace.ts';

/** The key of the action, and the namespace in which its result is written. */
export interface LeaseAddress {
  readonly namespace: Namespace;
  readonly key: Hash;
}

export interface LeaseRequest {
  /** A repeated request with the same id gets the same lease. */
  readonly id: string;
  /** The name of the holder, as it is shown. */
  readonly holder: string;
  /** How long the action takes, if that is known. */
  readonly expectedMs?: number | undefined;
  /** The requester has looked for the result after this lease had ended. */
  readonly after?: Fence | undefined;
}

/** The newest lease of an action, as it is now. */
export interface LeaseState {
  readonly fence: Fence;
  readonly holder: string;
  readonly heldMs: number;
  /** Without another heartbeat. */
  readonly expiresInMs: number;
  readonly expectedMs?: number | undefined;
  /** Undefined while it is held. */
  readonly end?: LeaseEnd | undefined;
}

interface LeaseEnd {
  readonly reason: EndReason;
  /** The text that the holder sent about it. */
  readonly detail?: string | undefined;
}

export interface LeaseRelease {
  readonly reason: ReleaseReason;
  readonly detail?: string | undefined;
}

/** `ended`: the action was just executed by another run, and the result can be looked up. */
export interface Acquired {
  readonly outcome: 'granted' | 'held' | 'ended';
  readonly lease: LeaseState;
  /** The lease was granted to an earlier request with the same id. */
  readonly isRepeated?: true;
  /** Of a lease that is granted now: the one that the action had before, unless the store has forgotten that. */
  readonly replaced?: LeaseState | undefined;
}

/** The client that says that it holds a lease. */
export interface Holding {
  readonly id: string;
  readonly fence: Fence;
}

export interface ActionLeases {
  acquire(address: LeaseAddress, request: LeaseRequest): Promise<Acquired>;
  /** Keeps the lease for STORE.actionLeaseMs more. False if another lease is newer, or this one was released. */
  heartbeat(address: LeaseAddress, holding: Holding): Promise<boolean>;
  /** False if another lease is newer, or this one was released before. */
  release(address: LeaseAddress, holding: Holding, release: LeaseRelease): Promise<boolean>;
  /** The newest lease of each action. Undefined if it never had one, or that is forgotten. */
  states(addresses: readonly LeaseAddress[]): Promise<readonly (LeaseState | undefined)[]>;
  /** Forgets leases that ended STORE.endedLeaseMs ago, at most so many. Returns how many. */
  forgetEnded(most: number): Promise<number>;
}

/** A lease as an engine stores it. Times are those of the engine's clock, in milliseconds since 1970. */
export interface LeaseRecord {
  readonly fence: Fence;
  readonly id: string;
  readonly holder: string;
  readonly expectedMs?: number | undefined;
  readonly since: number;
  /** When it ends without another heartbeat, or ended. */
  readonly until: number;
  readonly end?: LeaseRelease | undefined;
  /** Set by the engine: another number for each other record of the action. */
  readonly version?: number | undefined;
}

/** The newest lease of each action, as an engine stores it. A write resolves when it is durable. */
export interface LeaseRecords {
  /** All read at one time, with the engine's clock, which all nodes share. */
  get(addresses: readonly LeaseAddress[]): Promise<LeaseReading>;
  /** Only if `replacing`, as `get` returned it, is still stored. False if another writer was first. */
  put(address: LeaseAddress, record: LeaseRecord, replacing: LeaseRecord | undefined): Promise<boolean>;
  /** Greater than every one before it. */
  nextFence(): Promise<Fence>;
  /** Removes at most `most` of those that ended before this time. */
  removeBefore(until: number, most: number): Promise<number>;
}

export interface LeaseReading {
  readonly now: number;
  readonly records: readonly (LeaseRecord | undefined)[];
}

/** A condition of a write: the record of this action is still the one that was read. */
export interface UnchangedLease {
  readonly address: LeaseAddress;
  readonly record: LeaseRecord | undefined;
}

/** The lease under which a client writes a label. */
export interface LabelGuard {
  /** The action that the label is about. */
  readonly lease: LeaseAddress;
  /** The fence of the client’s lease. Undefined if the client has none. */
  readonly fence?: Fence | undefined;
}
