// kill -9 of the server during uploads over HTTP and gRPC, at seeded moments, some of them during its start.
// Afterwards every answer is the right bytes or a miss, nothing acknowledged is lost, HEAD and GET agree, and
// a result is served only with every blob that it names.
import { spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parseHash } from '../../core/digest.ts';
import { ActionResult } from '../../core/proto/generated/reapi.ts';
import { FORMS, Workshop } from '../rig/assay.ts';
import { keepFigures } from '../rig/figures.ts';
import { GrpcClient } from '../rig/grpc.ts';
import { Random } from '../rig/random.ts';
import { ServerProcess } from '../rig/server.ts';
import { soak } from '../rig/soak.ts';
import { ReapiClient } from '../server/protocols/reapi/rig.ts';

const KILLS = soak(1_000);
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

/** What the uploaders know: everything that they sent or would have sent next, and what was acknowledged. */
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
  timeout: 3_600_000,
}, async () => {
  const random = new Random(SEED);
  const seen = { acknowledged: 0, begun: 0, lostUnacknowledged: 0 };
  let ledger = new Ledger();
  for (let kill = 0; kill <= KILLS; kill++) {
    // One server checks what the kill before left, and takes the uploads until the next kill.
    const server = await ServerProcess.start(`${shop.folder}/store`, { form: 'bundle' });
    try {
      const answers = await audit(ledger, server.url);
      expect(answers.wrong, `kill ${kill}: torn or wrong answers`).toEqual([]);
      expect(answers.lost, `kill ${kill}: acknowledged, but gone`).toEqual([]);
      seen.acknowledged += ledger.acknowledged.size;
      seen.begun += ledger.blobs.size + ledger.results.size;
      seen.lostUnacknowledged += answers.absent;
      ledger = new Ledger();
      if (kill < KILLS && random.below(10) > 0) await uploadUntilKilled(random, ledger, server);
    } finally {
      await server.kill();
    }
    if (ledger.blobs.size === 0) await killWhileStarting(`${shop.folder}/store`, random);
  }
  keepFigures('server-kill', {
    kills: KILLS,
    'blobs and results, sent or next in line': seen.begun,
    acknowledged: seen.acknowledged,
    'cut off or not yet sent, and not there': seen.lostUnacknowledged,
    'there and whole, though not yet acknowledged': seen.begun - seen.acknowledged - seen.lostUnacknowledged,
    'torn answers': 0,
    'acknowledged lost': 0,
    seed: SEED,
  });
  expect(seen.acknowledged).toBeGreaterThan(KILLS);
  expect(
    seen.lostUnacknowledged,
    'no kill ever interrupted an upload: this test shows nothing',
  ).toBeGreaterThan(0);
});

async function uploadUntilKilled(random: Random, ledger: Ledger, server: ServerProcess): Promise<void> {
  const grpc = await GrpcClient.to(server.url);
  const senders = [httpSender(server.url), grpcSender(new ReapiClient(grpc))];
  const killed = new AbortController();
  const uploaders = Array.from({ length: UPLOADERS }, (_, number) =>
    upload(random, senders[number % senders.length] ?? httpSender(server.url), ledger, killed.signal),
  );
  // Wait for acknowledged uploads, not only for time: a busy machine may take long for the first one.
  const enough = random.below(20);
  while (ledger.acknowledged.size < enough) await wait(1);
  await wait(random.below(20));
  await server.kill();
  killed.abort();
  grpc.close();
  await Promise.all(uploaders);
}

async function killWhileStarting(store: string, random: Random): Promise<void> {
  const [program, ...before] = FORMS.bundle;
  const child = spawn(program, [...before, 'serve', '--port', '0', '--store', store], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  await wait(random.below(250));
  child.kill('SIGKILL');
  await ended;
}

async function upload(random: Random, sender: Sender, ledger: Ledger, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    const result = newResult(random);
    ledger.results.set(result.key, result);
    for (const blob of result.blobs) ledger.blobs.set(blob.hash, blob);
    try {
      for (const { hash, content } of result.blobs) {
        if (await sender.sendBlob(hash, content)) ledger.acknowledged.add(hash);
      }
      if (await sender.sendResult(result.key, result.bytes)) ledger.acknowledged.add(result.key);
    } catch {
      return;
    }
  }
}

/** True if it was acknowledged. */
interface Sender {
  sendBlob(hash: string, content: Buffer): Promise<boolean>;
  sendResult(key: string, bytes: Buffer): Promise<boolean>;
}

function httpSender(url: string): Sender {
  const put = async (path: string, body: Buffer): Promise<boolean> => {
    const response = await request(url + path, { method: 'PUT', body, dispatcher: agent });
    await response.body.dump();
    return response.statusCode === 200;
  };
  return {
    sendBlob: (hash, content) => put(`/cas/${hash}`, content),
    sendResult: (key, bytes) => put(`/ac/${key}`, bytes),
  };
}

/** Blobs by ByteStream, large ones in several messages. */
function grpcSender(client: ReapiClient): Sender {
  return {
    async sendBlob(hash, content) {
      const name = `uploads/${randomUUID()}/blobs/${hash}/${content.length}`;
      return (await client.write(name, content, { pieceBytes: 256 * 1024 })).status === 'OK';
    },
    async sendResult(key, bytes) {
      return (await client.updateResult({ hash: parseHash(key), size: 1 }, bytes)).status === 'OK';
    },
  };
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
