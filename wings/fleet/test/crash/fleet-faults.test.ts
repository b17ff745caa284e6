// Three nodes on one PostgreSQL and one bucket, under faults from a seed: no wrong byte, nothing lost within a lease,
// one first result for each key, and nothing left over at the end.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { digestOf } from '../../../../core/digest.ts';
import { STORE } from '../../../../store/limits.ts';
import { keepFigures } from '../../../../test/rig/figures.ts';
import { Random } from '../../../../test/rig/random.ts';
import { soak } from '../../../../test/rig/soak.ts';
import { FLEET_OBJECT } from '../../engine/ownership/fleet-object.ts';
import { openS3Objects } from '../../engine/s3/s3-objects.ts';
import { readS3Settings } from '../../engine/s3/settings.ts';
import { FLEET } from '../../limits.ts';
import { createDatabase, END_OTHERS, type TestDatabase } from '../engine/index-database.ts';
import { OwnPostgres } from '../rig/own-postgres.ts';
import { evict, heldBy } from './eviction.ts';
import { FleetNode } from './fleet-node.ts';
import { type Event, violationsOf } from './history.ts';
import { type Answer, type BlobSpec, bytesOf, ELECTION_IDLE_MS, type Operation } from './operations.ts';
import { type Fleet, runSchedule } from './schedule.ts';
import { runBothSides } from './two-sides.ts';

const SEED = Number(process.env.ASSAY_TEST_SEED ?? 20_261_117);
/** From one schedule to the next. So ASSAY_TEST_SEED can also name the middle of a long run, which then goes on from there. */
const SEED_STEP = 7919;
const SCHEDULES = soak(1000, 4);
const LEASE_MS = 4000;
const TICK_MS = LEASE_MS / STORE.leaseTicks;
const CONDEMNED_TICKS = Math.ceil(FLEET.condemnedMs / TICK_MS) + 2;

let postgres: OwnPostgres;
let database: TestDatabase;
/** Of the schedules with two databases. They start with the first of these schedules, on a PostgreSQL that does not crash. */
let sides: Sides | undefined;
const fillers: BlobSpec[] = [];
let nodes: FleetNode[];
let fleet: Fleet;
const events: Event[] = [];

beforeAll(async () => {
  postgres = await OwnPostgres.start();
  database = await createDatabase(LEASE_MS, postgres.url);
  let crashed = Promise.resolve();
  nodes = await startThree(database);
  fleet = {
    nodes,
    leaseMs: LEASE_MS,
    canary: String((await database.query('SELECT name::text FROM assay.canary'))[0]?.name),
    denied: new Set(),
    async dropConnections() {
      await crashed;
      await database.query(END_OTHERS);
    },
    crashPostgres() {
      crashed = crashed.then(() => postgres.crash()).then(() => postgres.restart());
      return crashed;
    },
  };
});
afterAll(async () => {
  await Promise.all([...nodes, ...(sides?.nodes ?? [])].map((node) => node.stop()));
  await Promise.all([database.close(), sides?.database.close()]);
  await Promise.all([postgres.stop(), sides?.postgres.stop()]);
});

it(`gives no answer that a correct fleet can’t give, in ${SCHEDULES} schedules from seed ${SEED}`, async () => {
  const answers: Counts = { hit: 0, done: 0 };
  const faults: Counts = {};
  let evictions = 0;
  const numbers = Array.from({ length: SCHEDULES }, (_, number) => number);
  let hasFailed = false;
  const runAll = async (run: RunSchedule, hasTwoDatabases: boolean) => {
    for (const schedule of numbers) {
      const seed = SEED + schedule * SEED_STEP;
      if (hasFailed || (seed % 4 === 1) !== hasTwoDatabases) continue;
      const happened = await run(new Random(seed), schedule);
      hasFailed = happened.violations.length > 0;
      expect(happened.violations, `ASSAY_TEST_SEED=${seed}, schedule ${schedule}`).toEqual([]);
      if (happened.hasEvicted) evictions++;
      for (const fault of happened.faults) count(faults, fault);
      for (const { answer } of happened.events)
        count(answers, answer.kind === 'error' ? answer.code : answer.kind);
    }
  };
  // Each fourth seed has two databases. These have nodes and a bucket of their own, and run beside the others.
  const ran = await Promise.allSettled([runAll(oneDatabase, false), runAll(twoDatabases, true)]);
  for (const one of ran) if (one.status === 'rejected') throw one.reason;
  console.log(`fleet-faults: ${JSON.stringify({ schedules: SCHEDULES, evictions, faults, answers })}`);
  expect(answers.hit).toBeGreaterThan(0);
  expect(answers.done).toBeGreaterThan(0);
  expect(evictions).toBeGreaterThan(0);
  keepFigures('fleet-faults', {
    schedules: SCHEDULES,
    faults: sumOf(faults),
    operations: sumOf(answers),
    'refused or cut off': sumOf(answers, /^(ASSAY_.*|killed)$/),
    'wrong answers': 0,
    'lost within a lease': 0,
    'evictions within 5 % of their target': evictions,
    'first seed': SEED,
  });
}, 10_800_000);

interface Sides {
  readonly postgres: OwnPostgres;
  readonly database: TestDatabase;
  readonly nodes: readonly FleetNode[];
}

type RunSchedule = (random: Random, number: number) => Promise<Schedule>;

interface Schedule {
  readonly events: readonly Event[];
  readonly faults: readonly string[];
  readonly violations: readonly string[];
  readonly hasEvicted: boolean;
}

async function oneDatabase(random: Random, number: number): Promise<Schedule> {
  const happened = await runSchedule(fleet, random, number);
  events.push(...happened.events);
  const evicted = await evict(nodes, database, random, CONDEMNED_TICKS);
  fillers.push(...evicted.fillers);
  return {
    events: happened.events,
    faults: [...happened.faults, evicted.fault],
    violations: [...violationsOf(happened.events, LEASE_MS), ...evicted.violations],
    hasEvicted: evicted.hasEvicted,
  };
}

async function twoDatabases(random: Random, number: number): Promise<Schedule> {
  sides ??= await startSides();
  const happened = await runBothSides(
    {
      main: sides.database,
      environment: sides.database.environment,
      leaseMs: LEASE_MS,
      condemnedTicks: CONDEMNED_TICKS,
      nodes: sides.nodes,
    },
    random,
    number,
  );
  return { ...happened, faults: [happened.fault], hasEvicted: false };
}

async function startSides(): Promise<Sides> {
  const own = await OwnPostgres.start();
  const main = await createDatabase(LEASE_MS, own.url);
  return { postgres: own, database: main, nodes: await startThree(main) };
}

function startThree({ environment }: TestDatabase): Promise<FleetNode[]> {
  return Promise.all([1, 2, 3].map(() => FleetNode.start(environment)));
}

it('has every object that the index names, and in the end no other', async () => {
  await Promise.all(nodes.map((node) => node.restart()));
  // A janitor that was cut off when it was killed is not one for ever.
  await sleep(ELECTION_IDLE_MS);
  // What dead nodes were uploading is condemned, and what is condemned is deleted, by one of the nodes.
  for (const ms of [STORE.abandonedUploadMs, FLEET.idleObjectMs, FLEET.condemnedMs, FLEET.condemnedMs]) {
    await database.advance(Math.ceil(ms / TICK_MS) + 2);
    const answers = await Promise.all(nodes.map((node) => askUntilReached(node, { kind: 'maintain' })));
    expect(answers.map(({ kind }) => kind)).toEqual(nodes.map(() => 'outcome'));
  }
  expect(await database.query(UNPAIRED)).toEqual([{ count: '0' }]);
  const [figures] = await database.query('SELECT bucket::int, index::int FROM assay.figures');
  expect([figures]).toEqual([await heldBy(database)]);
  const named = await namesOf('SELECT unnest(objects)::text AS name FROM assay.content');
  const rows = await namesOf('SELECT name::text FROM assay.object');
  const [canary] = await namesOf('SELECT name::text FROM assay.canary');
  expect(rows).toEqual(named);
  const settings = readS3Settings(database.environment.ASSAY_BLOBS, { ...database.environment });
  const objects = await openS3Objects(settings);
  const { objects: listed, after } = await objects.list(undefined);
  expect(after).toBeUndefined();
  expect(listed.map(({ name }) => name).filter((name) => name !== canary && name !== FLEET_OBJECT)).toEqual(
    named,
  );
  expect(await objects.abortUploads(-60_000, () => true)).toBe(0);
  await objects.close();
  await expectRightBytes();
}, 300_000);

/** Rows of blobs without their content, or the other way round. */
const UNPAIRED = `
  SELECT count(*) FROM assay.presence p FULL JOIN assay.content k ON k.hash = p.hash AND k.generation = p.generation
  WHERE p.hash IS NULL OR k.hash IS NULL`;

async function namesOf(query: string): Promise<string[]> {
  return (await database.query(query)).map(({ name }) => String(name)).sort();
}

/** Everything that the index has can be read, from either node. */
async function expectRightBytes(): Promise<void> {
  const present = new Set(await namesOf("SELECT encode(hash, 'hex') AS name FROM assay.presence"));
  const known = new Map<number, BlobSpec>(fillers.map((blob) => [blob.seed, blob]));
  for (const { operation } of events) if ('blob' in operation) known.set(operation.blob.seed, operation.blob);
  for (const blob of known.values()) {
    if (!present.delete(digestOf(bytesOf(blob)).hash)) continue;
    const answers = await Promise.all(nodes.map((node) => askUntilReached(node, { kind: 'get', blob })));
    expect(answers).toEqual(nodes.map(() => ({ kind: 'hit', isRight: true })));
  }
  expect([...present]).toEqual([]);
}

/** On a busy machine, a part that is slow for a moment counts as away also without a fault. */
async function askUntilReached(node: FleetNode, operation: Operation): Promise<Answer> {
  for (;;) {
    const answer = await node.ask(operation);
    if (answer.kind !== 'error' || !/^ASSAY_(INDEX|BUCKET)_AWAY$/.test(answer.code)) return answer;
    await sleep(100);
  }
}

type Counts = Record<string, number>;

function count(counts: Counts, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}

function sumOf(counts: Counts, names = /./): number {
  return Object.entries(counts).reduce((sum, [name, more]) => sum + (names.test(name) ? more : 0), 0);
}
