// The server counts leases: grants, waits, and the time that they saved.
import { Gauge, type Registry } from 'prom-client';
import { isSameFence, LONGEST_POLL_MS } from '../../core/action-lease.ts';
import type { Identity } from '../../server/access/identity.ts';
import { CounterCells } from '../../server/request/counter-cells.ts';
import type { LeaseEvent } from '../../server/request/observer.ts';
import type { LeaseState } from '../../store/action-leases.ts';
import type { Wait, WaitEnd } from './waiters.ts';

type Tell = (who: Identity, event: LeaseEvent) => void;

export class LeaseMetrics {
  readonly #events: CounterCells;
  readonly #saved: CounterCells;
  readonly #waited: CounterCells;
  readonly #tell: Tell;

  /** `tell`: observers show it to people. */
  constructor(registry: Registry, openWaits: () => number, tell: Tell) {
    this.#tell = tell;
    this.#events = new CounterCells(
      registry,
      'assay_action_leases_total',
      'Action leases: granted, held by another run when asked for, waited for until the result came, hedged (given up while held), ended with another reason, cancelled (the client left), expired, and refused by a limit.',
      ['event'],
    );
    this.#saved = new CounterCells(
      registry,
      'assay_action_lease_saved_seconds_total',
      'The durations of the actions whose results were waited for.',
      [],
    );
    this.#waited = new CounterCells(
      registry,
      'assay_action_lease_waited_seconds_total',
      'The time of all requests that waited for a lease.',
      [],
    );
    new Gauge({
      name: 'assay_action_lease_waits',
      help: 'Requests that wait for a lease now.',
      registers: [registry],
      collect() {
        this.set(openWaits());
      },
    });
  }

  /** The registry has all lines already. */
  text(): string {
    return '';
  }

  /** `replaced`: the lease that the action had before. */
  granted(who: Identity, replaced: LeaseState | undefined): void {
    this.#told(who, 'granted');
    if (replaced?.end?.reason === 'expired') this.#told(who, 'expired');
  }

  held(): void {
    this.#count('held');
  }

  refused(): void {
    this.#count('refused');
  }

  /** A wait for `lease` has ended. A client that asked for LONGEST_POLL_MS waits again; one that asked for less runs itself. */
  waited(who: Identity, found: WaitEnd, { lease, waitMs }: Wait, tookMs: number): void {
    this.#waited.cell().value += tookMs / 1000;
    if (found.end === 'refused') this.refused();
    else if (found.end === 'gone') this.#count('cancelled');
    else if (found.end === 'held') {
      const isOther = !isSameFence(lease.fence, found.lease?.fence);
      if (!isOther && waitMs < LONGEST_POLL_MS) this.#told(who, 'hedged');
    } else if (found.end === 'published') this.#cameTrue(who, lease.expectedMs ?? 0);
    else if (found.lease?.end?.reason === 'done') this.#cameTrue(who, found.lease.heldMs);
    else this.#count('ended');
  }

  #cameTrue(who: Identity, savedMs: number): void {
    this.#told(who, 'waited', savedMs);
    this.#saved.cell().value += savedMs / 1000;
  }

  #told(who: Identity, what: LeaseEvent['what'], savedMs = 0): void {
    this.#count(what);
    this.#tell(who, { what, savedMs });
  }

  #count(event: string): void {
    this.#events.cell(event).value++;
  }
}
