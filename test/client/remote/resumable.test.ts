import { connect, createServer, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { REMOTE } from '../../../client/limits.ts';
import { openHttpRemote } from '../../../client/remote/http.ts';
import { digestOf } from '../../../core/digest.ts';
import { type TestServer, testServer } from '../../server/rig.ts';
import { contentOf, readFrom, streamOf } from '../../store/content.ts';

const bytes = contentOf('large', REMOTE.resumeBytes + 4_000_000);
const digest = digestOf(bytes);
const closers: (() => void)[] = [];

afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A proxy that cuts the first connections after so many bytes each, and counts the bytes. */
class Cutter {
  sent = 0;
  readonly requests: string[] = [];
  readonly #cuts: number[];
  readonly #server;

  constructor(port: number, cuts: readonly number[]) {
    this.#cuts = [...cuts];
    this.#server = createServer((client) => this.#pass(client, connect(port, '127.0.0.1')));
    closers.push(() => this.#server.close());
  }

  #pass(client: Socket, server: Socket): void {
    let passed = 0;
    const end = () => {
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) socket.on('error', end).on('close', end);
    closers.push(end);
    server.pipe(client);
    client.on('data', (piece: Buffer) => {
      const line = /^(PUT|PATCH|HEAD) \S+/.exec(piece.toString('latin1', 0, 200));
      if (line) this.requests.push(line[1] ?? '');
      passed += piece.length;
      this.sent += piece.length;
      server.write(piece);
      const [cut] = this.#cuts;
      if (cut === undefined || passed < cut) return;
      this.#cuts.shift();
      end();
    });
  }

  url(): Promise<URL> {
    return new Promise((resolve) => {
      this.#server.listen(0, '127.0.0.1', () => {
        const address = this.#server.address();
        resolve(new URL(`http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/team`));
      });
    });
  }
}

async function upload(url: URL): Promise<void> {
  const remote = await openHttpRemote({ url, token: undefined, now: () => performance.now() });
  try {
    await remote.putBlobs(
      [digest],
      async (_, offset) => streamOf(bytes.subarray(offset), 65_536),
      () => {},
    );
  } finally {
    await remote.close();
  }
}

async function expectStored(server: TestServer): Promise<void> {
  expect((await readFrom(server.store, digest))?.equals(bytes)).toBe(true);
}

test('an upload resumes where the connection broke, each time', async () => {
  const server = await testServer();
  const cutter = new Cutter(server.port, [4_000_000, 5_000_000]);
  await upload(await cutter.url());
  await expectStored(server);
  expect(cutter.requests.filter((method) => method === 'PATCH').length).toBeGreaterThan(0);
  expect(cutter.sent).toBeLessThan(2 * bytes.length);
});

test('an upload of an earlier, killed run is resumed', async () => {
  const server = await testServer();
  const id = `http team ${digest.hash}`;
  const part = { expected: { hash: digest.hash }, offset: 0, isLast: false };
  await server.store.uploads.append(id, { ...part, content: bytes.subarray(0, 9_000_000) });
  const cutter = new Cutter(server.port, []);
  await upload(await cutter.url());
  await expectStored(server);
  expect(cutter.sent).toBeLessThan(bytes.length - 8_000_000);
});

test('an upload whose bytes all arrived is finished without sending them again', async () => {
  const server = await testServer();
  const part = { expected: { hash: digest.hash }, offset: 0, isLast: false };
  await server.store.uploads.append(`http team ${digest.hash}`, { ...part, content: bytes });
  const cutter = new Cutter(server.port, []);
  await upload(await cutter.url());
  await expectStored(server);
  expect(cutter.sent).toBeLessThan(10_000);
});

test('a client that finds another client’s upload in progress sends the whole blob', async () => {
  const server = await testServer();
  const { promise: goesOn, resolve: goOn } = Promise.withResolvers<void>();
  async function* hanging(): AsyncGenerator<Buffer> {
    yield bytes.subarray(0, 1000);
    await goesOn;
  }
  const part = { expected: { hash: digest.hash }, offset: 0, isLast: false };
  const other = server.store.uploads.append(`http team ${digest.hash}`, { ...part, content: hanging() });
  await upload(new URL(`${server.url}/team`));
  await expectStored(server);
  goOn();
  await other.catch(() => {});
});
