// The healthy clients, in their own process, so that the work of the slow ones does not count as the server's
// delay. Takes one job at a time as a message and replies with the latencies of its requests.
import { setTimeout as wait } from 'node:timers/promises';
import { Agent } from 'undici';
import { Random } from '../../test/rig/random.ts';
import { type Item, read } from '../../test/rig/uploads.ts';
import { Windows } from './windows.ts';

export interface HealthyJob {
  readonly url: string;
  readonly items: readonly { readonly path: string; readonly base64: string }[];
  readonly seconds: number;
}

export interface Waits {
  readonly p50: number;
  readonly p99: number;
  readonly answers: number;
  readonly wrong: number;
  /** Not counted. */
  readonly stolenSeconds: number;
}

const CLIENTS = 4;
/** A pause between two requests of one client: without it, the server is busy with these alone. */
const PAUSE_MS = 5;
const random = new Random(4712);

process.on('message', (job: HealthyJob) => {
  run(job).then((waits) => process.send?.(waits));
});

async function run({ url, items, seconds }: HealthyJob): Promise<Waits> {
  const agent = new Agent({ connections: CLIENTS });
  const known = items.map(({ path, base64 }): Item => ({ path, bytes: Buffer.from(base64, 'base64') }));
  const ends = performance.now() + seconds * 1000;
  const windows = new Windows();
  let wrong = 0;
  const client = async () => {
    while (performance.now() < ends) {
      const began = performance.now();
      if ((await read(url, random.pick(known), agent)) !== 'right') wrong++;
      windows.add(performance.now() - began);
      await wait(PAUSE_MS);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  await agent.close();
  const { times, stolenSeconds } = windows.end();
  const percentile = (share: number) => times[Math.floor(times.length * share)] ?? 0;
  return { p50: percentile(0.5), p99: percentile(0.99), answers: times.length, wrong, stolenSeconds };
}
