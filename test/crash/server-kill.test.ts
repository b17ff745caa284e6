// kill -9 of the server in the middle of uploads, at seeded moments: afterwards every answer is the right bytes or a miss,
// nothing that was acknowledged is lost, HEAD and GET agree, and a result is there only with all that it names.
import { createHash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ActionResult } from '../../core/proto/generated/reapi.ts';
import { Workshop } from '../rig/assay.ts';
import { Random } from '../rig/random.ts';
import { ServerProcess } from '../rig/server.ts';

const KILLS = 200;
const SEED = Number(process.env.ASSAY_TEST_SEED ?? 20261115);
const UPLOADERS = 8;
const SMALL = { least: 1, most: 8 * 1024 };
const LARGE = { least: 100 * 1024, most: 2 * 1024 * 1024 };

interface Blob {
  readonly hash: string;
  readonly content: Buffer;
}

interface Result {
  readonly key: string;
  readonly bytes: Buffer;
  readonly blobs: readonly Blob[];
}

/** What the uploaders know: everything they began, and what was acknowledged. */
class Ledger {
  readonly blobs = new Map<string, Blob>();
  readonly results = new Map<string, Result>();
  readonly acknowledged = new Set<string>();
}

let shop: Workshop;
let agent: Agent;

beforeEach(() => {
  shop = new Workshop();
  agent = new Agent({ connections: UPLOADERS });
});

afterEach(async () => {
  await agent.destroy();
  shop.remove();
});

test(`0 torn answers, 0 acknowledged lost, after ${KILLS} kills (seed ${SEED})`, {
  timeout: 900_000,
}, async () => {
  const random = new Random(SEED);
  const seen = { acknowledged: 0, begun: 0, lostUnacknowledged: 0 };
  for (let kill = 0; kill < KILLS; kill++) {
    const ledger = await uploadUntilKilled(random);
    const server = await ServerProcess.start(`${shop.folder}/store`, { form: 'bundle' });
    try {
      const answers = await audit(ledger, server.url);
      expect(answers.wrong, `kill ${kill}: torn or wrong answers`).toEqual([]);
      expect(answers.lost, `kill ${kill}: acknowledged, but gone`).toEqual([]);
      seen.acknowledged += ledger.acknowledged.size;
      seen.begun += ledger.blobs.size + ledger.results.size;
      seen.lostUnacknowledged += answers.absent;
    } finally {
      await server.kill();
    }
  }
  console.log(`${KILLS} kills, seed ${SEED}:`, seen);
  expect(seen.acknowledged).toBeGreaterThan(KILLS);
  expect(
    seen.lostUnacknowledged,
    'no kill ever interrupted an upload: this test shows nothing',
  ).toBeGreaterThan(0);
});

async function uploadUntilKilled(random: Random): Promise<Ledger> {
  const ledger = new Ledger();
  const server = await ServerProcess.start(`${shop.folder}/store`, { form: 'bundle' });
  const killed = new AbortController();
  const uploaders = Array.from({ length: UPLOADERS }, () =>
    upload(random, server.url, ledger, killed.signal),
  );
  await wait(random.below(120));
  await server.kill();
  killed.abort();
  await Promise.all(uploaders);
  return ledger;
}

async function upload(random: Random, url: string, ledger: Ledger, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    const result = newResult(random);
    ledger.results.set(result.key, result);
    for (const blob of result.blobs) ledger.blobs.set(blob.hash, blob);
    try {
      for (const { hash, content } of result.blobs) await put(`${url}/cas/${hash}`, content, hash, ledger);
      await put(`${url}/ac/${result.key}`, result.bytes, result.key, ledger);
    } catch {
      return;
    }
  }
}

async function put(url: string, body: Buffer, name: string, ledger: Ledger): Promise<void> {
  const response = await request(url, { method: 'PUT', body, dispatcher: agent });
  await response.body.dump();
  if (response.statusCode === 200) ledger.acknowledged.add(name);
}

interface Audit {
  readonly wrong: string[];
  readonly lost: string[];
  absent: number;
}

async function audit(ledger: Ledger, url: string): Promise<Audit> {
  const found: Audit = { wrong: [], lost: [], absent: 0 };
  const present = new Set<string>();
  const check = async (path: string, name: string, expected: Buffer): Promise<void> => {
    const got = await request(url + path, { dispatcher: agent });
    const body = Buffer.from(await got.body.arrayBuffer());
    const head = await request(url + path, { method: 'HEAD', dispatcher: agent });
    await head.body.dump();
    if (got.statusCode === 200) present.add(name);
    else found.absent++;
    if (head.statusCode !== got.statusCode)
      found.wrong.push(`${path}: HEAD ${head.statusCode}, GET ${got.statusCode}`);
    if (got.statusCode !== 200 && got.statusCode !== 404) found.wrong.push(`${path}: ${got.statusCode}`);
    if (got.statusCode === 200 && !body.equals(expected)) found.wrong.push(`${path}: other bytes`);
    if (got.statusCode !== 200 && ledger.acknowledged.has(name)) found.lost.push(path);
  };
  for (const { hash, content } of ledger.blobs.values()) await check(`/cas/${hash}`, hash, content);
  for (const { key, bytes, blobs } of ledger.results.values()) {
    await check(`/ac/${key}`, key, bytes);
    const dangling = present.has(key) && blobs.some(({ hash }) => !present.has(hash));
    if (dangling) found.wrong.push(`/ac/${key}: names what is not there`);
  }
  return found;
}

function newResult(random: Random): Result {
  const blobs = Array.from({ length: 1 + random.below(3) }, () => newBlob(random));
  const bytes = ActionResult.encode({
    outputFiles: blobs.map(({ hash, content }, index) => ({
      path: `out/${index}`,
      digest: { hash, sizeBytes: content.length },
      isExecutable: false,
      contents: Buffer.alloc(0),
    })),
    outputDirectories: [],
    outputFileSymlinks: [],
    outputDirectorySymlinks: [],
    outputSymlinks: [],
    exitCode: 0,
    stdoutRaw: Buffer.alloc(0),
    stderrRaw: Buffer.alloc(0),
  }).finish();
  return { key: sha256(random.bytes(16)), bytes: Buffer.from(bytes), blobs };
}

function newBlob(random: Random): Blob {
  const { least, most } = random.below(4) === 0 ? LARGE : SMALL;
  const content = Buffer.alloc(least + random.below(most - least), random.bytes(64));
  return { hash: sha256(content), content };
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
