// The metrics of a server of a fleet: how PostgreSQL and the bucket answer, the tier, shared reads and the janitor.
// Other servers do not have them.
import { Counter, Gauge, type Registry } from 'prom-client';
import { CounterCells } from '../../server/request/counter-cells.ts';
import { Durations } from '../../server/request/durations.ts';
import type { StoreEvent } from '../../store/events.ts';
import type { FleetEngine } from './engine/engine.ts';
import type { OnPartAnswer } from './open-fleet.ts';

type WatchedFleet = Pick<FleetEngine, 'readCounts' | 'isAway' | 'ownership'> & {
  readonly space: Pick<FleetEngine['space'], 'figures' | 'limits'>;
  readonly election: Pick<FleetEngine['election'], 'isElected'>;
};

export class FleetMetrics {
  readonly #registry: Registry;
  readonly #durations = {
    index: new Durations(
      'assay_index_duration_seconds',
      'Time of a statement to PostgreSQL, with its wait for a connection.',
      'statement',
    ),
    blobs: new Durations(
      'assay_bucket_duration_seconds',
      'Time until the bucket answers a request.',
      'request',
    ),
  };
  readonly #failures: CounterCells;
  readonly #cleaned: CounterCells;
  readonly #forgotten: CounterCells;

  constructor(registry: Registry) {
    this.#registry = registry;
    this.#failures = new CounterCells(
      registry,
      'assay_part_failures_total',
      'Statements and requests to the bucket that failed.',
      ['part'],
    );
    this.#cleaned = new CounterCells(
      registry,
      'assay_janitor_objects_total',
      'Objects that this server’s janitor condemned, deleted, or deleted as orphans, or that the bucket refused to delete.',
      ['what'],
    );
    this.#forgotten = new CounterCells(
      registry,
      'assay_forgotten_total',
      'Blobs and results that this server acknowledged and a failover of PostgreSQL forgot.',
      ['what'],
    );
  }

  readonly answered: OnPartAnswer = (part, kind, milliseconds, isFailure) => {
    this.#durations[part].add(kind, milliseconds);
    if (isFailure) this.#failures.cell(part).value++;
  };

  storeEvent(event: StoreEvent): void {
    if (event.type === 'cleaned') {
      this.#cleaned.cell('condemned').value += event.condemned;
      this.#cleaned.cell('deleted').value += event.deleted;
      this.#cleaned.cell('orphan').value += event.orphans;
      this.#cleaned.cell('refused').value += event.refused;
    } else if (event.type === 'forgotten') {
      this.#forgotten.cell('blobs').value += event.blobs;
      this.#forgotten.cell('results').value += event.results;
    }
  }

  /** Each scrape reads these numbers. It asks neither PostgreSQL nor the bucket. */
  watch({ readCounts, space, election, isAway, ownership }: WatchedFleet): void {
    const registers = [this.#registry];
    const tier = new Counter({
      name: 'assay_tier_reads_total',
      help: 'Reads of large blobs that the tier on this disk answered whole, or did not.',
      labelNames: ['outcome'],
      registers,
      collect: () => {
        tier.reset();
        tier.inc({ outcome: 'hit' }, readCounts.tierHits);
        tier.inc({ outcome: 'miss' }, readCounts.tierMisses);
      },
    });
    const joined: Counter = new Counter({
      name: 'assay_joined_reads_total',
      help: 'Reads that shared the request of another read to the bucket.',
      registers,
      collect: () => {
        joined.reset();
        joined.inc(readCounts.joined);
      },
    });
    const away = new Gauge({
      name: 'assay_part_away',
      help: '1 while PostgreSQL (index) or the bucket (blobs) counts as away for this server.',
      labelNames: ['part'],
      registers,
      collect: () => {
        const { index, blobs } = isAway();
        away.set({ part: 'index' }, Number(index));
        away.set({ part: 'blobs' }, Number(blobs));
      },
    });
    const gauges: readonly [name: string, help: string, read: () => number | undefined][] = [
      ['assay_fleet_bytes', 'Bytes of the fleet in its bucket.', () => space.figures?.bucket],
      ['assay_fleet_limit_bytes', 'The limit of the bytes in the bucket.', () => space.limits.bucket],
      ['assay_fleet_index_bytes', 'Bytes of the fleet in PostgreSQL.', () => space.figures?.index],
      ['assay_fleet_index_limit_bytes', 'The limit of the bytes in PostgreSQL.', () => space.limits.index],
      [
        'assay_fleet_condemned_objects',
        'Objects of the fleet that are still to be deleted.',
        () => space.figures?.condemned,
      ],
      ['assay_fleet_uploads', 'Unfinished uploads in parts of the fleet.', () => space.figures?.uploads],
      ['assay_janitor', '1 while this server is the janitor of the fleet.', () => Number(election.isElected)],
      [
        'assay_fleet_owner',
        '1 if the database may delete objects of the bucket, 0 while an alarm forbids it.',
        () => (ownership.isOwner === undefined ? undefined : Number(ownership.isOwner)),
      ],
      [
        'assay_fleet_waiting_orphans',
        'Objects without a row that are too many to be deleted without an operator.',
        () => ownership.waitingOrphans,
      ],
    ];
    for (const [name, help, read] of gauges) this.#gauge(name, help, read);
  }

  /** NaN as long as the number is not known: before the janitor has counted. */
  #gauge(name: string, help: string, read: () => number | undefined): void {
    const gauge: Gauge = new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect: () => gauge.set(read() ?? Number.NaN),
    });
  }

  /** In Prometheus' text format: what the registry does not have. */
  text(): string {
    return this.#durations.index.text() + this.#durations.blobs.text();
  }
}
