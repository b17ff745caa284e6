// A server with 128 descriptors and a thousand concurrent requests. It makes clients wait or refuses them,
// and answers each in the end. No answer is partial, and every descriptor is released.
import { readdirSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { Agent } from 'undici';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Workshop } from '../rig/assay.ts';
import { keepFigures } from '../rig/figures.ts';
import { Random } from '../rig/random.ts';
import { ServerProcess } from '../rig/server.ts';
import { type Item, newBlob, read, send } from '../rig/uploads.ts';

const SEED = Number(process.env.ASSAY_TEST_SEED ?? 20_261_115);
const DESCRIPTORS = 128;
const AT_ONCE = 1_000;
const ATTEMPTS = 400;

let shop: Workshop;
let server: ServerProcess;

beforeEach(async () => {
  shop = new Workshop();
  const wrapper = ['prlimit', `--nofile=${DESCRIPTORS}:${DESCRIPTORS}`];
  server = await ServerProcess.start(shop.store, { form: 'bundle', wrapper });
});

afterEach(async () => {
  await server.kill();
  shop.remove();
});

test(`${AT_ONCE} uploads and downloads at once with ${DESCRIPTORS} descriptors (seed ${SEED})`, {
  timeout: 300_000,
}, async () => {
  const random = new Random(SEED);
  const items = Array.from({ length: AT_ONCE }, (_, number) =>
    newBlob(random, number % 2 === 0 ? 66_000 + random.below(50_000) : 1 + random.below(5_000)),
  );
  const stored = items.slice(0, AT_ONCE / 2);
  await withAgent(8, async (agent) => {
    await Promise.all(stored.map(async (item) => expect(await send(server.url, item, agent)).toBe(200)));
  });
  const before = await settledHandles();
  const seen = { retries: 0, wrong: 0, unanswered: 0 };
  await withAgent(AT_ONCE, async (agent) => {
    await Promise.all(
      items.map(async (item, number) => {
        const isDownload = number < stored.length;
        const answer = await retried(seen, () =>
          isDownload ? read(server.url, item, agent) : send(server.url, item, agent),
        );
        if (answer === 'wrong') seen.wrong++;
        else if (answer !== 'right' && answer !== 200) seen.unanswered++;
      }),
    );
  });
  expect(seen).toMatchObject({ wrong: 0, unanswered: 0 });
  expect(server.child.exitCode).toBeNull();
  await withAgent(8, async (agent) => {
    for (const item of items) expect(await read(server.url, item, agent)).toBe('right');
  });
  const after = await settledHandles();
  expect(Math.abs(after - before)).toBeLessThanOrEqual(2);
  keepFigures('few-descriptors', {
    descriptors: DESCRIPTORS,
    'requests at once': AT_ONCE,
    'sent away and back again': seen.retries,
    'wrong or partial answers': 0,
    crashes: 0,
    'descriptors before': before,
    'descriptors after': after,
    seed: SEED,
  });
});

async function withAgent(connections: number, work: (agent: Agent) => Promise<void>): Promise<void> {
  const agent = new Agent({ connections, pipelining: 1 });
  try {
    await work(agent);
  } finally {
    await agent.destroy();
  }
}

/** Repeats until the answer is other than "too busy" or a closed connection. */
async function retried(
  seen: { retries: number },
  ask: () => Promise<Item | string | number>,
): Promise<unknown> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const answer = await ask().catch(() => 503);
    if (answer !== 503) return answer;
    seen.retries++;
    await wait(100);
  }
  return undefined;
}

/** The server's open files, after it has closed the finished connections. */
async function settledHandles(): Promise<number> {
  const count = () => readdirSync(`/proc/${server.child.pid}/fd`).length;
  let least = count();
  for (let calm = 0; calm < 10; ) {
    await wait(100);
    const now = count();
    calm = now >= least ? calm + 1 : 0;
    least = Math.min(least, now);
  }
  return least;
}
