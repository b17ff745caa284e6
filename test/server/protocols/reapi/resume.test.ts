// An interrupted write is resumed at its committed offset, not restarted: over a new connection,
// and on a server that was killed and restarted.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { type Digest, digestOf } from '../../../../core/digest.ts';
import { GrpcClient } from '../../../rig/grpc.ts';
import { noise, Random } from '../../../rig/random.ts';
import { ServerProcess } from '../../../rig/server.ts';
import { committed, PATHS, ReapiClient, readName, uploadName, writeRequest } from './rig.ts';

const SEED = 20261115;
const SIZE = 3 * 1024 * 1024 + 12_345;
const PIECE = 16 * 1024;

const random = new Random(SEED);
const breaks = Array.from({ length: 20 }, (_, index) => {
  const at = 1 + random.below(SIZE - 1);
  return { index, at, way: index % 4 === 3 ? 'a killed server' : 'a broken connection' };
});

const folder = mkdtempSync(join(tmpdir(), 'assay-resume-'));
let server: ServerProcess;

beforeAll(async () => {
  server = await ServerProcess.start(folder);
});

afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

test.each(breaks)(
  `$index: a write cut at byte $at by $way is resumed there, seed ${SEED}`,
  async ({ index, at, way }) => {
    const bytes = noise(index, SIZE);
    const digest = digestOf(bytes);
    const name = uploadName(digest, `upload-${index}`, 'some/project');
    await writeAndBreak(name, bytes.subarray(0, at));
    if (way === 'a killed server') {
      await arrived(name, digest);
      await server.kill();
      server = await ServerProcess.start(folder);
    }
    const stands = await arrived(name, digest);
    expect(stands).toBeGreaterThan(0);
    expect(stands).toBeLessThanOrEqual(at);
    const client = await connect();
    const answer = await client.write(name, bytes.subarray(stands), { offset: stands });
    expect(committed(answer)).toBe(SIZE);
    expect((await client.readBytes(readName(digest))).equals(bytes)).toBe(true);
    expect(await client.writeStatus(name)).toMatchObject({ committedSize: SIZE, complete: true });
  },
);

test('a client that returns before the server notices the broken connection can resume', async () => {
  const bytes = noise(100, SIZE);
  const digest = digestOf(bytes);
  const name = uploadName(digest, 'twice');
  const half = bytes.subarray(0, SIZE / 2);
  const first = await connect();
  const call = first.grpc.open(PATHS.write);
  const before = staged();
  await call.send(
    writeRequest({ resourceName: name, writeOffset: 0, finishWrite: false, data: Buffer.from(half) }),
  );
  // A server that has not started the first write would take it for the newer one.
  await vi.waitUntil(() => staged().some((file) => !before.includes(file)), { timeout: 90_000 });
  const stands = await arrived(name, digest, 0);
  const second = await connect();
  expect(committed(await second.write(name, bytes.subarray(stands), { offset: stands }))).toBe(SIZE);
  expect((await second.readBytes(readName(digest))).equals(bytes)).toBe(true);
});

test('a write may restart at zero, but may not leave a gap', async () => {
  const bytes = noise(101, SIZE);
  const digest = digestOf(bytes);
  const name = uploadName(digest, 'gap');
  await writeAndBreak(name, Buffer.alloc(100_000, 'wrong'));
  const stands = await arrived(name, digest);
  const client = await connect();
  const gap = await client.write(name, bytes.subarray(stands + 1), { offset: stands + 1 });
  expect(gap).toMatchObject({ status: 'OUT_OF_RANGE' });
  expect(gap.message).toContain('ASSAY_BAD_OFFSET');
  expect(committed(await client.write(name, bytes))).toBe(SIZE);
  expect((await client.readBytes(readName(digest))).equals(bytes)).toBe(true);
});

test('a write that ends without finish_write gets its committed size', async () => {
  const bytes = noise(102, SIZE);
  const name = uploadName(digestOf(bytes), 'stops');
  const client = await connect();
  expect(committed(await client.write(name, bytes.subarray(0, 50_000), { isFinished: false }))).toBe(50_000);
  expect(await client.writeStatus(name)).toMatchObject({ committedSize: 50_000, complete: false });
});

async function connect(): Promise<ReapiClient> {
  const grpc = await GrpcClient.to(server.url);
  onTestFinished(() => grpc.close());
  return new ReapiClient(grpc);
}

/** Sends messages of Bazel's size, then destroys the connection. */
async function writeAndBreak(resourceName: string, bytes: Buffer): Promise<void> {
  const client = await connect();
  const call = client.grpc.open(PATHS.write);
  for (let at = 0; at < bytes.length; at += PIECE) {
    const data = bytes.subarray(at, at + PIECE);
    const name = at === 0 ? resourceName : '';
    await call.send(writeRequest({ resourceName: name, writeOffset: at, finishWrite: false, data }));
  }
  await new Promise<void>((resolve) => call.stream.write(Buffer.alloc(0), () => resolve()));
  client.grpc.close();
}

/** The staging files of writes under way. */
function staged(): string[] {
  return readdirSync(join(folder, 'v5', 'staging'));
}

/** The committed size, as soon as the server has noticed the end of the connection. */
async function arrived(resourceName: string, digest: Digest, least = 1): Promise<number> {
  const client = await connect();
  let before = -1;
  for (;;) {
    const { committedSize } = await client.writeStatus(resourceName);
    if (committedSize >= least && committedSize === before) return committedSize;
    before = committedSize;
    await client.missing(digest);
  }
}
