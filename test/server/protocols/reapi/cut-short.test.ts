// An incomplete stream never ends with OK, whether the client, the store or the server is the cause.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { digestOf, toWire } from '../../../../core/digest.ts';
import { frame } from '../../../../core/grpc/frame.ts';
import { GRPC_STATUS } from '../../../../core/grpc-status.ts';
import { ReadRequest } from '../../../../core/proto/generated/bytestream.ts';
import { GetTreeRequest } from '../../../../core/proto/generated/reapi-services.ts';
import { type GrpcCall, GrpcClient } from '../../../rig/grpc.ts';
import { noise } from '../../../rig/random.ts';
import { directoryOf } from '../../../store/content.ts';
import { TestClock } from '../../capacity/test-clock.ts';
import { largeBlob, storeWith, testServer } from '../../rig.ts';
import { PATHS, readName, reapiServer } from './rig.ts';

const MIB = 1024 * 1024;
/** Incompressible, so that it does not fit into a client's window. */
const BYTES = noise(4711, 8 * MIB);
const DIGEST = digestOf(BYTES);
/** Larger than the socket buffers. */
const VAST = { hash: DIGEST.hash, size: 128 * MIB };

/** Returns less of the blob than its digest says. */
function endsAfter(bytes: number) {
  const chunks = async function* (offset = 0) {
    for (let at = offset; at < bytes; at += MIB) yield BYTES.subarray(at, Math.min(at + MIB, bytes));
  };
  return storeWith({ get: async () => largeBlob(BYTES.length, chunks) });
}

function readRequest(resourceName: string): Uint8Array {
  return ReadRequest.encode({ resourceName, readOffset: 0, readLimit: 0 }).finish();
}

describe('Read of a blob that the store truncates is INTERNAL', () => {
  test.each([
    ['uncompressed', readName(DIGEST)],
    ['compressed', `compressed-blobs/zstd/${DIGEST.hash}/${DIGEST.size}`],
  ])('%s', async (_how, name) => {
    for (const bytes of [0, 1, 3 * MIB, BYTES.length - 1]) {
      const { client } = await reapiServer({ store: endsAfter(bytes) });
      expect(await client.read(name)).toMatchObject({ status: 'INTERNAL' });
    }
  });
});

test('BatchReadBlobs of a blob that the store truncates is INTERNAL', async () => {
  const small = digestOf(BYTES.subarray(0, MIB));
  const chunks = async function* () {
    yield BYTES.subarray(0, MIB - 1);
  };
  const { client } = await reapiServer({
    store: storeWith({ get: async () => largeBlob(MIB, chunks) }),
  });
  const [response] = await client.readMany([small]);
  expect(response?.status?.code).toBe(GRPC_STATUS.INTERNAL);
});

describe('a client that stops reading is cut off', () => {
  const limits = { sweepMs: 10 };
  const compressed = `compressed-blobs/zstd/${DIGEST.hash}/${DIGEST.size}`;

  test.each([
    ['a chunk', readName(DIGEST), {}],
    ['a copy', readName(DIGEST), { maxZeroCopyChunks: 0 }],
    ['a compressed piece', compressed, {}],
  ])('if its window is empty: %s', async (_what, name, more) => {
    const clock = new TestClock();
    const server = await testServer({ clock, limits: { ...limits, ...more } });
    await server.store.blobs.put(DIGEST, BYTES);
    const client = await clientOf(server.url, 1024);
    const call = client.open(PATHS.read);
    call.stream.end(frame(readRequest(name)));
    call.stream.pause();
    await clock.passOften(61);
    call.stream.resume();
    expect(await statusOf(call)).not.toBe('OK');
  });

  test.each([
    ['a chunk', readName(VAST), {}],
    ['a copy', readName(VAST), { maxZeroCopyChunks: 0 }],
    ['a compressed piece', `compressed-blobs/zstd/${VAST.hash}/${VAST.size}`, {}],
  ])('if its connection is full: %s', async (_what, name, more) => {
    const clock = new TestClock();
    const server = await testServer({ clock, limits: { ...limits, ...more }, store: vastBlob() });
    const line = await PausableLine.to(server);
    const client = await clientOf(line.url, 2 ** 31 - 1);
    line.pause();
    const call = client.open(PATHS.read);
    call.stream.end(frame(readRequest(name)));
    await clock.passOften(61);
    line.resume();
    expect(await statusOf(call)).not.toBe('OK');
  });

  test('also in GetTree', async () => {
    const clock = new TestClock();
    const server = await testServer({ clock, limits });
    const folders = Array.from({ length: 50 }, (_, number) =>
      directoryOf(Array.from({ length: 200 + number }, () => DIGEST)),
    );
    const root = directoryOf([], folders.map(digestOf));
    for (const folder of [root, ...folders]) await server.store.blobs.put(digestOf(folder), folder);
    const request = { instanceName: '', rootDigest: toWire(digestOf(root)), pageSize: 1, pageToken: '' };
    const client = await clientOf(server.url, 1024);
    const call = client.open(PATHS.getTree);
    call.stream.end(frame(GetTreeRequest.encode({ ...request, digestFunction: 0 }).finish()));
    call.stream.pause();
    await clock.passOften(61);
    call.stream.resume();
    expect(await statusOf(call)).not.toBe('OK');
  });
});

function vastBlob() {
  const chunks = async function* (offset = 0) {
    for (let at = offset; at < VAST.size; at += MIB) yield BYTES.subarray(at % BYTES.length).subarray(0, MIB);
  };
  return storeWith({ get: async () => largeBlob(VAST.size, chunks) });
}

/** A proxy between a client and a server that stops forwarding when paused. */
class PausableLine {
  readonly url: string;
  readonly #ends = new Set<Socket>();

  private constructor(url: string) {
    this.url = url;
  }

  static async to({ port }: { readonly port: number }): Promise<PausableLine> {
    const server = createServer((client) => {
      const far = connect(port, '127.0.0.1');
      line.#ends.add(far);
      for (const end of [client, far]) {
        end
          .on('error', () => {})
          .on('close', () => {
            client.destroy();
            far.destroy();
          });
      }
      client.pipe(far);
      far.on('data', (piece) => client.write(piece));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (!address || typeof address === 'string') throw new Error('no address');
    const line = new PausableLine(`http://127.0.0.1:${address.port}`);
    onTestFinished(() => {
      for (const end of line.#ends) end.destroy();
      server.close();
    });
    return line;
  }

  pause(): void {
    for (const end of this.#ends) end.pause();
  }

  resume(): void {
    for (const end of this.#ends) end.resume();
  }
}

async function clientOf(url: string, windowBytes: number): Promise<GrpcClient> {
  const client = await GrpcClient.to(url, {}, { settings: { initialWindowSize: windowBytes } });
  client.session.setLocalWindowSize(2 ** 31 - 1);
  onTestFinished(() => client.close());
  return client;
}

async function statusOf(call: GrpcCall): Promise<string> {
  try {
    return (await call.answer()).status;
  } catch (error) {
    return String(error);
  }
}
