// A schedule of two databases on one prefix: a restored dump, or a database of its own. Both serve and write, either one
// adopts the objects in the middle, and a janitor is killed or stopped meanwhile. Neither loses what it has written.
import { setTimeout as sleep } from 'node:timers/promises';
import { digestOf } from '../../../../core/digest.ts';
import { AssayError } from '../../../../core/errors.ts';
import { Random } from '../../../../test/rig/random.ts';
import type { Objects } from '../../engine/objects.ts';
import { Adoption } from '../../engine/ownership/adoption.ts';
import { openS3Objects } from '../../engine/s3/s3-objects.ts';
import { readS3Settings } from '../../engine/s3/settings.ts';
import { openDatabase, type TestDatabase } from '../engine/index-database.ts';
import { Dump } from '../rig/dump.ts';
import type { FleetEnvironment } from '../rig/services.ts';
import type { FleetNode } from './fleet-node.ts';
import { type Event, violationsOf } from './history.ts';
import { disturb, elect, isDeletion, JANITOR_FAULTS } from './janitor-faults.ts';
import { type BlobSpec, bytesOf } from './operations.ts';
import { runClient, someBlobs } from './schedule.ts';

const KINDS = ['restored dump', 'second database'] as const;
/** Evicted before the dump. */
const OLD_BLOBS = 6;
const OLD_BYTES = 20_000;
const MOMENTS_MS = 600;

const EVICT_ALL = [
  'DELETE FROM assay.presence',
  'DELETE FROM assay.content',
  'UPDATE assay.object SET state = 3 WHERE state = 2',
];
const AGE = 'UPDATE assay.object SET tick = tick - $1 WHERE state = 3';
const CONTENT = 'SELECT unnest(objects)::text AS name FROM assay.content';
const ROWS = 'SELECT name::text FROM assay.object';
const CONDEMNED = 'SELECT name::text FROM assay.object WHERE state = 3';

export interface Prefix {
  /** A database of the PostgreSQL of the test. */
  readonly main: TestDatabase;
  readonly environment: FleetEnvironment;
  readonly leaseMs: number;
  readonly condemnedTicks: number;
  /** Two of the first database, and one of the second. */
  readonly nodes: readonly FleetNode[];
}

export interface BothSides {
  readonly events: readonly Event[];
  readonly fault: string;
  readonly violations: readonly string[];
}

class Side {
  readonly database: TestDatabase;
  readonly nodes: readonly FleetNode[];
  readonly events: Event[] = [];

  constructor(database: TestDatabase, nodes: readonly FleetNode[]) {
    this.database = database;
    this.nodes = nodes;
  }

  async names(query: string): Promise<string[]> {
    return (await this.database.query(query)).map(({ name }) => String(name));
  }

  /** As an operator does, who repeats the command if he is told to. */
  async adopt(objects: Objects): Promise<void> {
    const { adoption, database } = await Adoption.open(this.database.url, objects);
    try {
      for (let isDone = false; !isDone; )
        isDone = await adoption.adopt(await adoption.find()).then(
          () => true,
          (error: unknown) => {
            if (error instanceof AssayError && error.code === 'ASSAY_FLEET_NOT_OWNER') return false;
            throw error;
          },
        );
    } finally {
      await database.close();
    }
  }

  async isOwner(objects: Objects): Promise<boolean> {
    const { adoption, database } = await Adoption.open(this.database.url, objects);
    const { verdict } = await adoption.find().finally(() => database.close());
    return verdict.kind === 'owner';
  }

  get deletions(): number {
    return this.nodes.reduce((sum, { s3 }) => sum + s3.calls.filter(isDeletion).length, 0);
  }
}

export async function runBothSides(prefix: Prefix, random: Random, number: number): Promise<BothSides> {
  const { main, nodes, condemnedTicks } = prefix;
  const urls = ['one', 'two'].map((side) => {
    const url = new URL(main.url);
    url.pathname = `/side_${number}_${side}`;
    return url;
  });
  const places = urls.map((url) => ({
    ...prefix.environment,
    ASSAY_INDEX: url.href,
    ASSAY_BLOBS: `${prefix.environment.ASSAY_BLOBS}-${number}`,
  }));
  for (const url of urls) await main.query(`CREATE DATABASE ${url.pathname.slice(1)}`);
  const [first, second] = await Promise.all(places.map((place) => openDatabase(place, prefix.leaseMs)));
  const [place = prefix.environment, otherPlace = place] = places;
  const objects = await openS3Objects(readS3Settings(place.ASSAY_BLOBS, { ...place }));
  try {
    if (!first || !second) throw new Error('there are two');
    const one = new Side(first, nodes.slice(0, 2));
    const two = new Side(second, nodes.slice(2));
    for (const node of one.nodes) await node.move(place);
    return await run(
      { one, two, objects, otherPlace, condemnedTicks, leaseMs: prefix.leaseMs },
      random,
      number,
    );
  } finally {
    for (const node of nodes) {
      node.heal();
      await node.kill();
    }
    const { objects: left } = await objects.list(undefined);
    await objects.delete(left.map(({ name }) => name));
    await objects.close();
    await Promise.all([first?.close(), second?.close()]);
    for (const url of urls) await main.query(`DROP DATABASE ${url.pathname.slice(1)} WITH (FORCE)`);
  }
}

interface Scene {
  readonly one: Side;
  readonly two: Side;
  readonly objects: Objects;
  readonly otherPlace: FleetEnvironment;
  readonly condemnedTicks: number;
  readonly leaseMs: number;
}

async function run(scene: Scene, random: Random, number: number): Promise<BothSides> {
  const { one, two, objects, leaseMs } = scene;
  const kind = random.pick(KINDS);
  await condemnSome(scene, number);
  const shared = someBlobs(random, number);
  await runClient(one.nodes, random, shared, number, one.events);
  if (kind === 'restored dump') {
    const dump = await Dump.of(one.database.url);
    await dump.restoreInto(two.database.url).finally(() => dump.remove());
    two.events.push(...one.events);
  } else await two.adopt(objects);
  for (const node of two.nodes) await node.move(scene.otherPlace);

  const faulty = random.pick([one, two]);
  const fault = random.pick(JANITOR_FAULTS);
  const adopters = Array.from({ length: 1 + random.below(2) }, () => random.pick([one, two]));
  const janitor = await elect(faulty.nodes);
  for (const { database } of [one, two]) await database.query(AGE, [scene.condemnedTicks]);
  // Numbers of their own, so that what they do depends on the seed alone.
  const own = () => new Random(random.below(2 ** 31));
  const moments = own();
  const adoptions = async () => {
    for (const side of adopters) {
      await sleep(moments.below(MOMENTS_MS));
      await side.adopt(objects);
    }
  };
  const [violations] = await Promise.all([
    disturb(janitor, faulty.nodes, fault, own(), adoptions),
    fault.startsWith('SIGSTOP') ? undefined : adoptions(),
    ...[one, two].map(({ nodes, events }) => runClient(nodes, own(), shared, number, events)),
  ]);
  const name = `${kind}, janitor: ${fault}`;
  const wrong = [one, two].flatMap(({ events }) => violationsOf(events, leaseMs));
  const settled = await settle(scene, [...shared]);
  return {
    events: [...one.events, ...two.events.filter((event) => !one.events.includes(event))],
    fault: name,
    violations: [...violations, ...wrong, ...settled.map((text) => `${name}: ${text}`)],
  };
}

/** Objects that both databases know as condemned, and that either may delete in the middle of the schedule. */
async function condemnSome({ one }: Scene, number: number): Promise<void> {
  for (let at = 0; at < OLD_BLOBS; at++)
    await one.nodes[0]?.ask({ kind: 'put', blob: { seed: number * 100 + 50 + at, size: OLD_BYTES } });
  await evictAll(one);
}

async function evictAll({ database }: Side): Promise<void> {
  for (const statement of EVICT_ALL) await database.query(statement);
}

/** One is the owner. The other one evicts all, and goes on: it deletes nothing. */
async function settle(
  { one, two, objects, condemnedTicks }: Scene,
  blobs: readonly BlobSpec[],
): Promise<string[]> {
  const violations: string[] = [];
  const expect = (isTrue: boolean, text: string) => {
    if (!isTrue) violations.push(text);
  };
  const inBucket = async (names: readonly string[]) => {
    const present = new Set((await objects.list(undefined)).objects.map(({ name }) => name));
    return names.every((name) => present.has(name));
  };
  for (const { nodes } of [one, two]) await elect(nodes);
  const owns = [await one.isOwner(objects), await two.isOwner(objects)];
  expect(owns[0] !== owns[1], `${owns.filter(Boolean).length} databases own the objects`);
  const [owner, other] = owns[0] ? [one, two] : [two, one];
  const ownersRows = new Set(await owner.names(ROWS));
  const ownContent = await owner.names(CONTENT);
  const otherContent = await other.names(CONTENT);
  expect(await inBucket(ownContent), 'an object of the owner was lost');
  expect(await inBucket(otherContent), 'an object of the other database was lost');

  const deletions = other.deletions;
  await evictAll(other);
  for (const { database } of [one, two]) await database.query(AGE, [condemnedTicks]);
  /* A round also condemns what dead nodes left. That is due later. */
  const due = new Set(await owner.names(CONDEMNED));
  for (let round = 0; round < 2; round++) for (const { nodes } of [one, two]) await elect(nodes);
  expect(other.deletions === deletions, 'a database deleted that is not the owner');
  expect(await inBucket(ownContent), 'an object of the owner was deleted');
  const only = otherContent.filter((name) => !ownersRows.has(name));
  expect(await inBucket(only), 'the owner deleted what only the other database wrote');
  const overdue = (await owner.names(CONDEMNED)).filter((name) => due.has(name));
  expect(overdue.length === 0, `the owner did not delete ${overdue.length} of ${due.size} condemned objects`);
  const present = new Set(await owner.names("SELECT encode(hash, 'hex') AS name FROM assay.presence"));
  for (const blob of blobs) {
    if (!present.has(digestOf(bytesOf(blob)).hash)) continue;
    for (const node of owner.nodes) {
      const answer = await node.ask({ kind: 'get', blob });
      expect(answer.kind === 'hit' && answer.isRight, `blob ${blob.seed}: ${JSON.stringify(answer)}`);
    }
  }
  return violations;
}
