// Where leases are: a server, or the local store. Both answer in the same terms.
import type { EndReason, Fence, ReleaseReason } from '../../../core/action-lease.ts';

/** A lease that another run holds. */
export interface HeldByOther {
  readonly outcome: 'held';
  /** Undefined if its name is not told. */
  readonly holder?: string | undefined;
  /** How long it will still take; 0: it is overdue. Undefined if nobody knows. */
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
  /** Undefined while this run holds it, as far as it knows. */
  lost(): string | undefined;
  /** Once; later calls do nothing. Never rejects. */
  release(reason: ReleaseReason, detail?: string): Promise<void>;
}

export interface Granted {
  readonly outcome: 'granted';
  readonly grant: HeldLease;
}

/** Nobody can say who runs the action: run. */
export interface NoLease {
  readonly outcome: 'none';
}

/** Another run has published a result of the action. */
export interface PublishedElsewhere {
  readonly outcome: 'published';
}

export interface LeasePlace {
  /** `after`: this run has looked for the result since the lease with this fence ended. */
  acquire(after: Fence | undefined): Promise<Granted | HeldByOther | Ended | NoLease>;
  /** Resolves when something happens, or after `waitMs`. */
  wait(held: HeldByOther, waitMs: number): Promise<HeldByOther | Ended | PublishedElsewhere | NoLease>;
}
