// A pull request that announces more than it sends takes nothing from the others: neither their hits nor the
// space for their writes. The requests are generated: each write verb of each protocol, not sent, slow, and cut.
// The store is used, near its limit, and has several tenants.
import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { digestOf } from '../../core/digest.ts';
import { WriteRequest } from '../../core/proto/generated/bytestream.ts';
import type { AccountSettings } from '../../store/accounts.ts';
import { openDiskStore } from '../../store/open.ts';
import { GrpcClient } from '../rig/grpc.ts';
import { temporaryFolder } from '../rig/stores/disk-store.ts';
import { PATHS, uploadName } from '../server/protocols/reapi/rig.ts';
import { ask, RawConnection } from '../server/rig.ts';
import { contentOf, resultNaming } from '../store/content.ts';
import { filesIn } from '../store/folders.ts';
import { GRPC_EXAMPLES } from './access/grpc-examples.ts';
import { type HttpRequest, World } from './access/world.ts';

const MIB = 1024 * 1024;
const LIMIT = 48 * MIB;
const ANNOUNCED = LIMIT - 4 * MIB;
/** Of each tenant: in a store that is full up to its floors, and in one that has some space left. */
const [ENTRIES, FEWER_ENTRIES] = [22, 20];
const ENTRY_BYTES = MIB;
/** What both tenants have. With the bytes of the attacks the store is above STORE.evictFrom of its limit. */
const FLOORS = ['acme/app/main', 'rival'].map((name) => ({
  name,
  namespaces: [name],
  floor: { bytes: ENTRIES * (MIB + 8192) },
}));
const LEASE_MS = 60_000;
/** More than the server receives before it asks the store. */
const CUT_BYTES = 70_000;

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const keyOf = (name: string) => digestOf(Buffer.from(name)).hash;

/** One attack: what it sends at first, and what it sends slowly after that. */
interface Upload {
  readonly name: string;
  send(bytes: number): void;
  cut(): void;
}

/** The bytes of unfinished uploads. */
function stagedBytes(directory: string): number {
  return filesIn(directory, 'staging').reduce((sum, path) => sum + statSync(path).size, 0);
}

class Attacked {
  readonly world: World;
  readonly directory: string;
  readonly url: string;
  readonly #entries: number;
  readonly #clock: { now: number };

  private constructor(world: World, directory: string, clock: { now: number }, entries: number) {
    this.#entries = entries;
    this.world = world;
    this.directory = directory;
    this.url = `http://127.0.0.1:${world.port}`;
    this.#clock = clock;
  }

  /** Main and another tenant have used the store until it was nearly full. */
  static async open(entries: number, accounts: readonly AccountSettings[]): Promise<Attacked> {
    const time = { now: 0 };
    const clock = { name: 'test', now: () => time.now };
    const directory = temporaryFolder();
    const world = await World.open(async (onEvent) => {
      const options = { directory, onEvent, clock, leaseMs: LEASE_MS, maxSize: { bytes: LIMIT } };
      const store = await openDiskStore({ ...options, accounts });
      await store.holdings.count(async () => {});
      return store;
    });
    const attacked = new Attacked(world, directory, time, entries);
    for (let index = 0; index < entries; index++)
      for (const token of ['main', 'other'])
        expect(await attacked.store(token, `${token} ${index}`, ENTRY_BYTES)).toBe(200);
    return attacked;
  }

  /** Everything can be evicted from now on. */
  async endLeases(): Promise<void> {
    this.#clock.now += 4 * LEASE_MS;
    await sleep(1100);
  }

  async store(token: string, name: string, size: number): Promise<number> {
    const body = contentOf(name, size);
    const digest = digestOf(body);
    const headers = bearer(token);
    const sent = await ask(`${this.url}/cas/${digest.hash}`, 'PUT', { headers, body });
    if (sent.status !== 200) return sent.status;
    const result = resultNaming(digest);
    return (await ask(`${this.url}/ac/${keyOf(name)}`, 'PUT', { headers, body: result })).status;
  }

  async misses(token: string): Promise<string[]> {
    const missing: string[] = [];
    for (let index = 0; index < this.#entries; index++) {
      const name = `${token} ${index}`;
      const { status } = await ask(`${this.url}/ac/${keyOf(name)}`, 'GET', { headers: bearer(token) });
      if (status !== 200) missing.push(name);
    }
    return missing;
  }

  /** Each begins with its head, and has sent no byte of its body. */
  async uploads(): Promise<Upload[]> {
    const requests = this.world.requests(['PUT', 'POST', 'PATCH']);
    const http = await Promise.all(requests.map((request) => this.http(request)));
    const client = await GrpcClient.to(this.url, bearer('pull'));
    onTestFinished(() => client.close());
    const grpc = this.world.writingMethods().map((path) => inPieces(client, path));
    return [...http, ...grpc, byteStream(client, 'blobs'), byteStream(client, 'compressed-blobs/zstd')];
  }

  async http(request: HttpRequest): Promise<Upload> {
    const head = await this.world.head('pull', request, ANNOUNCED);
    const connection = await RawConnection.to(this.world);
    connection.send(head);
    return {
      name: `${request.method} ${request.example.path}`,
      send: (bytes) => connection.send(Buffer.alloc(bytes)),
      cut: () => connection.socket.destroy(),
    };
  }
}

/** A message of a method that announces 16 MiB. */
function inPieces(client: GrpcClient, path: string): Upload {
  const { stream } = client.open(path);
  const [messages = []] = GRPC_EXAMPLES[path]?.('pull') ?? [];
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(16 * MIB, 1);
  stream.on('error', () => {}).write(Buffer.concat([prefix, ...messages]));
  return { name: path, send: (bytes) => void stream.write(Buffer.alloc(bytes)), cut: () => stream.destroy() };
}

/** A write whose name announces the size. */
function byteStream(client: GrpcClient, kind: string): Upload {
  const call = client.open(PATHS.write);
  const digest = digestOf(Buffer.from(`attack ${kind}`));
  const resourceName = uploadName({ ...digest, size: ANNOUNCED }, kind).replace('/blobs/', `/${kind}/`);
  let writeOffset = 0;
  const send = (bytes: number) => {
    const message = { resourceName, writeOffset, finishWrite: false, data: Buffer.alloc(bytes) };
    writeOffset += bytes;
    void call.send(WriteRequest.encode(message).finish());
  };
  send(0);
  return { name: `${PATHS.write} ${kind}`, send, cut: () => call.stream.destroy() };
}

const WAYS: Record<string, (uploads: readonly Upload[], round: number) => void> = {
  'announced and not sent': () => {},
  slow: (uploads, round) => {
    for (const upload of uploads) upload.send(round === 0 ? 900 : 1);
  },
  cut: (uploads, round) => {
    for (const upload of uploads) {
      if (round === 0) upload.send(CUT_BYTES);
      else if (round === 1) upload.cut();
    }
  },
};

test.each(Object.entries(WAYS))(
  'each write verb, %s: takes no hit and no space of others',
  async (_way, send) => {
    const server = await Attacked.open(ENTRIES, FLOORS);
    await server.endLeases();
    const uploads = await server.uploads();
    expect(uploads.length).toBeGreaterThan(60);
    for (let round = 0; round < 4; round++) {
      send(uploads, round);
      await sleep(200);
      for (const token of ['main', 'other'])
        expect(await server.store(token, `${token} in round ${round}`, 50_000)).toBe(200);
      for (const path of ['/healthz', '/readyz']) expect((await ask(server.url + path)).status).toBe(200);
    }
    expect([await server.misses('main'), await server.misses('other')]).toEqual([[], []]);
  },
);

test.each(['PUT', 'ByteStream'])(
  'a slow %s that holds the rest of a leased store makes way for the writes of others',
  async (kind) => {
    const server = await Attacked.open(FEWER_ENTRIES, []);
    const client = await GrpcClient.to(server.url, bearer('pull'));
    onTestFinished(() => client.close());
    const [request] = server.world.requests(['PUT']).filter(({ address }) => address.name === 'bazel-http');
    if (!request) throw new Error('there is no example of a PUT');
    const slow = kind === 'PUT' ? await server.http(request) : byteStream(client, 'blobs');
    for (let sent = 0; sent < 5; sent++) slow.send(MIB);
    await expect.poll(() => stagedBytes(server.directory)).toBeGreaterThanOrEqual(4 * MIB);
    const answers = [];
    for (let round = 0; round < 3; round++) {
      slow.send(1);
      answers.push(await server.store('main', `main in round ${round}`, MIB));
    }
    expect(answers).toEqual([200, 200, 200]);
    expect(stagedBytes(server.directory)).toBe(0);
    expect([await server.misses('main'), await server.misses('other')]).toEqual([[], []]);
  },
);
