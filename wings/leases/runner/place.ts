// Where leases are: a server, or the local store. Both answer in the same terms.
import type { EndReason, Fence, ReleaseReason } from '../../../core/action-lease.ts';

/** A lease that another run holds. */
export interface HeldByOther {
  readonly outcome: 'held';
  /** Undefined if its name is not told. */
  readonly holder?: string | undefined;
  /** How long the run will still take; 0: it is overdue. Undefined if its duration is not known. */
  readonly leftMs?: number | undefined;
  readonly fence?: Fence | undefined;
}

export interface Ended {
  readonly outcome: 'ended';
  readonly reason: EndReason;
  readonly detail?: string | undefined;
  readonly fence?: Fence | undefined;
}

/** A lease that this run holds. */
export interface HeldLease {
  readonly fence?: Fence | undefined;
  /** Another run has taken it over. False as far as this run knows. */
  readonly isLost: boolean;
  /** Once; later calls do nothing. Never rejects. */
  release(reason: ReleaseReason, detail?: string): Promise<void>;
}

export interface Granted {
  readonly outcome: 'granted';
  readonly grant: HeldLease;
}

/** The place can’t say which run executes the action, so this one does. */
export interface NoLease {
  readonly outcome: 'none';
}

/** Another run has published a result of the action. */
export interface PublishedElsewhere {
  readonly outcome: 'published';
}

export interface LeasePlace {
  /**
   * `after`: this run has looked for the result since the lease with this fence ended. Without an answer it resolves
   * after `mostMs` or a place's own limit, whichever is shorter.
   */
  acquire(after: Fence | undefined, mostMs: number): Promise<Granted | HeldByOther | Ended | NoLease>;
  /** Resolves when something happens, and after `leftMs` or earlier in any case. */
  wait(held: HeldByOther, leftMs: number): Promise<HeldByOther | Ended | PublishedElsewhere | NoLease>;
}
