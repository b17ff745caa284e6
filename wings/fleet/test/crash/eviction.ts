// An eviction after a schedule: one limit is filled, all leases end, and the janitors of all nodes run at once, with a
// fault of the elected one. It must end within a twentieth of its target.
import { setTimeout as sleep } from 'node:timers/promises';
import { STORE } from '../../../../store/limits.ts';
import type { Random } from '../../../../test/rig/random.ts';
import { RESULT_LEASE_TICKS } from '../../engine/index/logical-clock.ts';
import type { TestDatabase } from '../engine/index-database.ts';
import type { FleetNode } from './fleet-node.ts';
import { disturb, elect, JANITOR_FAULTS } from './janitor-faults.ts';
import { type BlobSpec, LIMITS } from './operations.ts';

const PARTS = ['bucket', 'index'] as const;
type Held = Readonly<Record<(typeof PARTS)[number], number>>;

/** In the bucket and in PostgreSQL. */
const FILLER_BYTES: Held = { bucket: 1_000_000, index: 10_000 };
/** Their numbers are beyond those of schedules. */
const FIRST_FILLER = 2 ** 31;
const TOLERANCE = 0.05;
const CHECKS = 20;
const PAUSE_MS = 100;
/** A reader that has seen an object needs no longer than this for it, in leases. */
const CONDEMNED_LEASES = 4;

/** What the count must be: all rows, added up. */
const HELD = `
  SELECT ((SELECT coalesce(sum(l), 0) FROM assay.content k, unnest(k.lengths) AS l)
    + (SELECT coalesce(sum(committed), 0) FROM assay.upload))::int AS bucket,
    ((SELECT coalesce(sum(coalesce(octet_length(bytes), 0) + octet_length(checksums) + 500), 0) FROM assay.content)
    + (SELECT coalesce(sum(octet_length(bytes) + 48 * cardinality(hashes) + 400), 0) FROM assay.result)
    + (SELECT coalesce(sum(octet_length(label) + octet_length(namespace) + 200), 0) FROM assay.label))::int AS index`;

/** What was condemned some leases ago is now condemned for long enough to be deleted. */
const AGE = `
  UPDATE assay.object o SET tick = o.tick - $1 FROM assay.clock c
  WHERE o.state = 3 AND o.tick < c.tick - ${CONDEMNED_LEASES * STORE.leaseTicks}`;

export interface Evicted {
  readonly fault: string;
  readonly violations: readonly string[];
  readonly fillers: readonly BlobSpec[];
  /** Whether anything had to be evicted. */
  readonly hasEvicted: boolean;
}

export async function heldBy(database: TestDatabase): Promise<Held> {
  const [row] = await database.query(HELD);
  return { bucket: Number(row?.bucket), index: Number(row?.index) };
}

export async function evict(
  nodes: readonly FleetNode[],
  database: TestDatabase,
  random: Random,
  condemnedTicks: number,
): Promise<Evicted> {
  const janitor = await elect(nodes);
  const fillers = await fill(nodes, database, random);
  await database.query(AGE, [condemnedTicks]);
  await database.advance(RESULT_LEASE_TICKS + 2);
  const before = await heldBy(database);
  const full = PARTS.filter((part) => before[part] > LIMITS[part] * STORE.evictFrom);
  const fault = random.pick(JANITOR_FAULTS);
  const violations = await disturb(janitor, nodes, fault, random);
  await elect(nodes);
  let after = await heldBy(database);
  for (let check = 0; check < CHECKS && full.some((part) => share(after, part) > 1 + TOLERANCE); check++) {
    await sleep(PAUSE_MS);
    after = await heldBy(database);
  }
  const above = PARTS.filter((part) => share(before, part) > 1);
  const isRight =
    (full.length === 0 && same(before, after)) ||
    endsAtTarget(full, after) ||
    // A janitor that is new to its office takes a part above its target for an eviction that was begun.
    endsAtTarget(above, after);
  const figures = JSON.stringify({ before, after, full, fault });
  return {
    fault: `eviction, janitor: ${fault}`,
    violations: isRight ? violations : [...violations, `an eviction missed its target: ${figures}`],
    fillers,
    hasEvicted: full.length > 0,
  };
}

/** One of the two limits, mostly to more than STORE.evictFrom of it. */
async function fill(
  nodes: readonly FleetNode[],
  database: TestDatabase,
  random: Random,
): Promise<BlobSpec[]> {
  const part = random.pick(PARTS);
  const size = FILLER_BYTES[part];
  const missing = LIMITS[part] * 0.98 - (await heldBy(database))[part];
  const first = FIRST_FILLER + random.below(2 ** 31);
  const fillers = Array.from({ length: Math.max(0, Math.ceil(missing / size)) }, (_, at) => ({
    seed: (first + at) % 2 ** 32,
    size,
  }));
  for (const blob of fillers) await nodes[random.below(nodes.length)]?.ask({ kind: 'put', blob });
  return fillers;
}

/** Of several parts, one may need more than the others. */
function endsAtTarget(parts: readonly (typeof PARTS)[number][], after: Held): boolean {
  const highest = Math.max(...parts.map((part) => share(after, part)));
  return Math.abs(highest - 1) <= TOLERANCE;
}

/** Of the target. */
function share(held: Held, part: (typeof PARTS)[number]): number {
  return held[part] / (LIMITS[part] * STORE.evictTo);
}

function same(one: Held, other: Held): boolean {
  return PARTS.every((part) => one[part] === other[part]);
}
