// kill -9 of the server during uploads over the protocols of tools with opaque keys, at seeded moments.
// Afterwards every answer is the right bytes or a miss, HEAD and GET agree, nothing acknowledged is lost, and
// an upload in parts continues where the server says.
import { createHash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Agent } from 'undici';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Workshop } from '../rig/assay.ts';
import { keepFigures } from '../rig/figures.ts';
import { Random } from '../rig/random.ts';
import { ServerProcess } from '../rig/server.ts';
import { soak } from '../rig/soak.ts';
import { type ProtocolClient, protocolClients } from './protocol-clients.ts';

const KILLS = soak(30, 8);
const SEED = Number(process.env.ASSAY_TEST_SEED ?? 20_261_115);
/** Some have more than one chunk. */
const MOST_BYTES = 1_500_000;

interface Upload {
  readonly client: string;
  readonly key: string;
  readonly content: Buffer;
  isAcknowledged: boolean;
}

let shop: Workshop;
let agent: Agent;
let server: ServerProcess;

beforeEach(async () => {
  shop = new Workshop();
  agent = new Agent({ connections: 16 });
  server = await ServerProcess.start(shop.store, { form: 'bundle' });
});

afterEach(async () => {
  await server.kill();
  await agent.destroy();
  shop.remove();
});

test(`0 torn answers, 0 acknowledged lost, after ${KILLS} kills by every adapter (seed ${SEED})`, {
  timeout: 300_000,
}, async () => {
  const random = new Random(SEED);
  const clients = protocolClients(server.url, agent).map(({ name }) => name);
  const acknowledged = new Map(clients.map((name) => [name, 0]));
  let [begun, cutOff] = [0, 0];
  for (let kill = 0; kill < KILLS; kill++) {
    const uploads = await uploadUntilKilled(random, kill === 0 ? clients : []);
    server = await ServerProcess.start(shop.store, { form: 'bundle' });
    expect(await harm(uploads), `kill ${kill}`).toEqual([]);
    begun += uploads.length;
    for (const { client, isAcknowledged } of uploads) {
      if (isAcknowledged) acknowledged.set(client, (acknowledged.get(client) ?? 0) + 1);
      else cutOff++;
    }
  }
  expect(Math.min(...acknowledged.values()), 'a protocol of which nothing was seen').toBeGreaterThan(0);
  expect(cutOff, 'no kill ever interrupted an upload: this test shows nothing').toBeGreaterThan(KILLS);
  keepFigures('adapter-kill', {
    kills: KILLS,
    protocols: clients.length,
    'uploads begun': begun,
    acknowledged: [...acknowledged.values()].reduce((sum, count) => sum + count, 0),
    'cut off': cutOff,
    'torn answers': 0,
    'acknowledged lost': 0,
    seed: SEED,
  });
});

/** `awaited`: the clients of which an upload is acknowledged before the kill. */
async function uploadUntilKilled(random: Random, awaited: readonly string[]): Promise<Upload[]> {
  const uploads: Upload[] = [];
  let isOver = false;
  const uploader = async (client: ProtocolClient): Promise<void> => {
    while (!isOver) {
      const upload = newUpload(random, client.name);
      uploads.push(upload);
      try {
        upload.isAcknowledged = await client.upload(upload.key, upload.content);
      } catch {
        return;
      }
    }
  };
  const uploaders = protocolClients(server.url, agent).map(uploader);
  // Wait for acknowledged uploads, not only for time: a busy machine may take long for the first one.
  const enough = random.below(30);
  for (;;) {
    const done = uploads.filter(({ isAcknowledged }) => isAcknowledged).map(({ client }) => client);
    if (done.length >= enough && awaited.every((name) => done.includes(name))) break;
    await wait(1);
  }
  await wait(random.below(20));
  await server.kill();
  isOver = true;
  await Promise.all(uploaders);
  return uploads;
}

function newUpload(random: Random, client: string): Upload {
  const key = createHash('sha256').update(random.bytes(16)).digest('hex');
  const size = 1 + random.below(random.below(3) === 0 ? MOST_BYTES : 60_000);
  return { client, key, content: Buffer.alloc(size, random.bytes(64)), isAcknowledged: false };
}

/** The wrong answers of the restarted server. */
async function harm(uploads: readonly Upload[]): Promise<string[]> {
  const clients = new Map(protocolClients(server.url, agent).map((client) => [client.name, client]));
  const found: string[] = [];
  for (const { client, key, content, isAcknowledged } of uploads) {
    try {
      const bytes = await clients.get(client)?.find(key, content);
      if (bytes && !bytes.equals(content)) found.push(`${client} ${key}: other bytes`);
      if (!bytes && isAcknowledged) found.push(`${client} ${key}: acknowledged, but gone`);
    } catch (error) {
      found.push(`${client}: ${error}`);
    }
  }
  return found;
}
