// A schedule: operations of a few clients on all nodes, and faults at moments between them, all from one seed.
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../../../test/rig/random.ts';
import type { Cable } from '../rig/network.ts';
import type { S3Fault, S3Proxy } from '../rig/s3-proxy.ts';
import type { Link } from '../rig/tcp-proxy.ts';
import type { ClockError, FleetNode } from './fleet-node.ts';
import type { Event } from './history.ts';
import type { BlobSpec, Operation } from './operations.ts';

const CLIENTS = 4;
const OPERATIONS = 10;
/** A client that got an error does not spend all its operations while the fault lasts. */
const ERROR_PAUSE_MS = 150;
/** Small blobs lie in PostgreSQL, large ones in the bucket, the largest in two chunks. */
const SIZES = [900, 12_000, 40_000, 150_000, 1_100_000];
const S3_FAULTS: readonly S3Fault[] = [
  'unavailable',
  'cut',
  'lost answer',
  'truncated',
  'shortened',
  'hang',
  'hang in answer',
  'repeated',
];
const LINKS: readonly Link[] = ['frozen', 'deaf', 'mute', 'away', 'slow'];
const CABLES: readonly Cable[] = ['cut', 'deaf', 'mute', 'flaky', 'narrow'];
const CLOCKS: readonly ClockError[] = ['+0', '+1h', '-1h'];

export interface Fleet {
  readonly nodes: readonly FleetNode[];
  readonly leaseMs: number;
  readonly canary: string;
  /** Objects of which the bucket has denied that they are there. By a second fault they could count as lost. */
  readonly denied: Set<string>;
  /** The connections of all nodes to PostgreSQL end. */
  dropConnections(): Promise<void>;
  /** All processes of PostgreSQL end at once, and it is started again. */
  crashPostgres(): Promise<void>;
}

export interface Happened {
  readonly events: readonly Event[];
  /** The names of the faults. */
  readonly faults: readonly string[];
}

export async function runSchedule(fleet: Fleet, random: Random, number: number): Promise<Happened> {
  const blobs = someBlobs(random, number);
  const events: Event[] = [];
  const lies = fleet.nodes.map(() => 0);
  // Each client and each fault has numbers of its own. So what they do depends on the seed alone, and not on who is first.
  const own = () => new Random(random.below(2 ** 31));
  const clients = Array.from({ length: CLIENTS }, own).map((choice) =>
    runClient(fleet.nodes, choice, blobs, number, events, lies),
  );
  // One fault, and in half of the schedules a second one beside it.
  const injected = Array.from({ length: 1 + random.below(2) }, own).map((choice) =>
    injectFault(fleet, choice, lies),
  );
  const [faults] = await Promise.all([Promise.all(injected), ...clients]);
  for (const node of fleet.nodes) node.heal();
  return { events, faults };
}

/** One client: its operations, one after the other, on any node. `lies`: how often S3 has lied to each node. */
export async function runClient(
  nodes: readonly FleetNode[],
  random: Random,
  blobs: readonly BlobSpec[],
  number: number,
  events: Event[],
  lies: readonly number[] = [],
): Promise<void> {
  for (let done = 0; done < OPERATIONS; done++) {
    const node = random.below(nodes.length);
    const operation = randomOperation(random, blobs, number);
    const liesBefore = lies[node];
    const start = performance.now();
    const answer = await nodes[node]?.ask(operation);
    const end = performance.now();
    if (answer?.kind === 'error') await sleep(ERROR_PAUSE_MS);
    if (answer) events.push({ operation, answer, start, end, node, wasLiedTo: lies[node] !== liesBefore });
  }
}

export function someBlobs(random: Random, number: number): BlobSpec[] {
  return Array.from({ length: 4 }, (_, at) => ({ seed: number * 100 + at + 1, size: random.pick(SIZES) }));
}

function randomOperation(random: Random, blobs: readonly BlobSpec[], number: number): Operation {
  const blob = random.pick(blobs);
  const key = `${number}-${random.below(2)}`;
  switch (random.below(14)) {
    case 0:
    case 1:
    case 2:
      return { kind: 'put', blob };
    case 3:
      return { kind: 'upload', blob };
    case 4:
    case 5:
      return { kind: 'get', blob };
    case 6:
      return { kind: 'missing', blobs: random.shuffled(blobs) };
    case 7:
    case 8:
      return { kind: 'put-result', key, blobs: random.shuffled(blobs).slice(0, 1 + random.below(2)) };
    case 9:
      return { kind: 'get-result', key };
    case 10:
      return { kind: 'put-label', label: `${number}`, key };
    case 11:
    case 12:
      return { kind: 'get-label', label: `${number}` };
    default:
      return { kind: 'maintain' };
  }
}

/** Returns the name of the fault. */
async function injectFault(fleet: Fleet, random: Random, lies: number[]): Promise<string> {
  const at = random.below(fleet.nodes.length);
  const node = fleet.nodes[at];
  if (!node) return 'none';
  await sleep(random.below(300));
  const lastsMs = 100 + random.below(700);
  const kind = random.below(40);
  if (kind === 0) {
    const wake = node.pause();
    await sleep(fleet.leaseMs * 1.5);
    wake();
    return 'SIGSTOP beyond a lease';
  }
  if (kind < 10) {
    const clock = random.pick(CLOCKS);
    await node.restart(clock);
    return clock === '+0' ? 'SIGKILL' : `SIGKILL, then a clock of ${clock}`;
  }
  if (kind === 10) {
    await fleet.dropConnections();
    return 'connections to PostgreSQL dropped';
  }
  if (kind === 11) {
    await fleet.crashPostgres();
    return 'PostgreSQL crashes';
  }
  if (kind < 17) {
    const link = random.pick(LINKS);
    node.postgres.link = link;
    await sleep(lastsMs);
    node.postgres.link = 'open';
    return `link to PostgreSQL ${link}`;
  }
  if (kind < 24) {
    const cable = random.pick(CABLES);
    node.cable = cable;
    await sleep(lastsMs);
    node.cable = 'whole';
    return `cable ${cable}`;
  }
  if (kind < 26) {
    node.rotTier();
    return 'tier rotten';
  }
  if (kind < 28) {
    denyObjects(fleet, at, lies);
    return 'S3 denies objects';
  }
  if (kind < 30) {
    await denyBucket(fleet, at, lies, lastsMs);
    return 'S3 denies all, with the canary';
  }
  if (kind < 33) {
    void node.ask({ kind: 'maintain' });
    await sleep(random.below(50));
    await node.restart();
    return 'SIGKILL in a round of the janitor';
  }
  const fault = random.pick(S3_FAULTS);
  failRequests(node, fault, 1 + random.below(4));
  return `S3 ${fault}`;
}

/** From now on, the bucket denies each object once. */
function denyObjects(fleet: Fleet, at: number, lies: number[]): void {
  const node = fleet.nodes[at];
  if (!node) return;
  node.s3.fault = ({ method, path }) => {
    if (method !== 'GET' || fleet.denied.has(path) || path.includes('?')) return undefined;
    fleet.denied.add(path);
    lies[at] = (lies[at] ?? 0) + 1;
    return 'missing';
  };
}

/** For a while, the bucket denies the canary and all objects but those that it denied before. */
async function denyBucket(fleet: Fleet, at: number, lies: number[], lastsMs: number): Promise<void> {
  const node = fleet.nodes[at];
  if (!node) return;
  const before = new Set(fleet.denied);
  const fault: S3Proxy['fault'] = ({ method, path }) => {
    if (method !== 'GET' || path.includes('?')) return undefined;
    if (path.endsWith(fleet.canary)) return 'missing';
    if (before.has(path)) return undefined;
    fleet.denied.add(path);
    lies[at] = (lies[at] ?? 0) + 1;
    return 'missing';
  };
  node.s3.fault = fault;
  await sleep(lastsMs);
  if (node.s3.fault === fault) node.s3.fault = () => undefined;
}

/** The next requests of a node fail, whenever they come. */
function failRequests(node: FleetNode, fault: S3Fault, count: number): void {
  let left = count;
  node.s3.fault = () => (left-- > 0 ? fault : undefined);
}
