// The elected janitor under faults: it is killed in a round, or stopped until another node has its office.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../../../test/rig/random.ts';
import { FLEET_OBJECT } from '../../engine/ownership/fleet-object.ts';
import type { S3Call } from '../rig/s3-proxy.ts';
import type { FleetNode } from './fleet-node.ts';
import { type Answer, ELECTION_IDLE_MS } from './operations.ts';

/** Requests to the bucket of one round, about. */
const REQUESTS = 8;
const PATIENCE_MS = 60_000;
const PAUSE_MS = 100;

export const JANITOR_FAULTS = [
  'none',
  'SIGKILL',
  'SIGKILL at a request',
  'SIGSTOP until another is elected',
] as const;
export type JanitorFault = (typeof JANITOR_FAULTS)[number];

/** Rounds of all nodes, until an elected one has ended its own without an error. Returns that node. */
export async function elect(nodes: readonly FleetNode[]): Promise<FleetNode> {
  const start = performance.now();
  let answers: Answer[] = [];
  while (performance.now() - start < PATIENCE_MS) {
    answers = await Promise.all(nodes.map((node) => node.ask({ kind: 'maintain' })));
    const elected = nodes.find((_, at) => isElected(answers[at]));
    if (elected) return elected;
    await sleep(PAUSE_MS);
  }
  throw new Error(`no node is elected: ${JSON.stringify(answers)}`);
}

function isElected(answer: Answer | undefined): boolean {
  return answer?.kind === 'outcome' && answer.outcome === 'elected';
}

/** A round of all nodes, with a fault of the elected one. Returns what is wrong. `meanwhile`: while it is stopped. */
export async function disturb(
  janitor: FleetNode,
  nodes: readonly FleetNode[],
  fault: JanitorFault,
  random: Random,
  meanwhile: () => Promise<void> = async () => {},
): Promise<string[]> {
  const others = nodes.filter((node) => node !== janitor);
  const delayMs = random.below(50);
  const request = random.below(REQUESTS);
  if (fault === 'SIGSTOP until another is elected') return stop(janitor, others, meanwhile);
  const { promise: reached, resolve } = Promise.withResolvers<void>();
  if (fault === 'SIGKILL at a request') {
    let seen = 0;
    janitor.s3.fault = () => {
      if (seen++ === request) resolve();
      return undefined;
    };
  }
  const rounds = Promise.all(nodes.map((node) => node.ask({ kind: 'maintain' })));
  if (fault === 'SIGKILL') await sleep(delayMs);
  if (fault === 'SIGKILL at a request') await Promise.race([reached, rounds]);
  if (fault !== 'none') await janitor.restart();
  janitor.s3.fault = () => undefined;
  await rounds;
  return [];
}

/** It is stopped after it has read what it will delete, and before it knows whether it still may. */
async function stop(
  janitor: FleetNode,
  others: readonly FleetNode[],
  meanwhile: () => Promise<void>,
): Promise<string[]> {
  const { promise: stopped, resolve } = Promise.withResolvers<() => void>();
  let hasClaimed = false;
  let isStopped = false;
  janitor.s3.fault = ({ method, path }) => {
    if (isStopped || !path.includes(FLEET_OBJECT)) return undefined;
    if (method === 'PUT') hasClaimed = true;
    else if (hasClaimed) {
      isStopped = true;
      resolve(janitor.pause());
    }
    return undefined;
  };
  const round = janitor.ask({ kind: 'maintain' });
  const wake = await Promise.race([stopped, round.then(() => undefined)]);
  if (!wake) {
    janitor.s3.fault = () => undefined;
    return [];
  }
  await Promise.all([sleep(ELECTION_IDLE_MS), meanwhile()]);
  if (others.length > 0) await elect(others);
  const before = janitor.s3.calls.length;
  wake();
  await round;
  janitor.s3.fault = () => undefined;
  return janitor.s3.calls
    .slice(before)
    .filter(isDeletion)
    .map(({ method, path }) => `deleted by a janitor without its office: ${method} ${path}`);
}

export function isDeletion({ method, path }: S3Call): boolean {
  if (method === 'DELETE') return !path.includes('uploadId=');
  return method === 'POST' && /[?&]delete\b/.test(path);
}
