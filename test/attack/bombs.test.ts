// Decompression bombs: zstd data that inflates to gigabytes, on every call that inflates, and stacked content
// encodings.
// The server refuses each one, and its memory stays bounded. bench/bombs.ts measures the time.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Digest, digestOf, parseHash } from '../../core/digest.ts';
import { LAYOUT_VERSION } from '../../store/disk/fs/layout.ts';
import { Workshop } from '../rig/assay.ts';
import { bombOf, compressedName, stackedEncodings } from '../rig/bombs.ts';
import { keepFigures } from '../rig/figures.ts';
import { GrpcClient } from '../rig/grpc.ts';
import { forgetPeak, peakBytes, processorMs, residentBytes } from '../rig/memory.ts';
import { ServerProcess } from '../rig/server.ts';
import { ReapiClient } from '../server/protocols/reapi/rig.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;
const MOST_MEMORY = 32 * MIB;
/** Several times the memory that 256 MiB of uncompressed uploads cost: the limit for every attack. */
const MOST_PROCESSOR_MS = 10_000;
const STACKED = 5_000;

let shop: Workshop;
let server: ServerProcess;
let reapi: ReapiClient;
const seen = { refused: 0, dearestMs: 0, memory: 0 };

beforeAll(async () => {
  shop = new Workshop();
  server = await ServerProcess.start(shop.store, { form: 'bundle' });
  reapi = new ReapiClient(await GrpcClient.to(server.url));
  // Warm up first, so that the memory and code that inflating needs are not counted.
  for (const size of [10, 3 * MIB]) {
    const bomb = bombOf(size);
    await reapi.write(compressed(wrongDigest(size)), bomb);
  }
});

afterAll(async () => {
  reapi.grpc.close();
  await server.kill();
  shop.remove();
});

function wrongDigest(size: number): Digest {
  return { hash: parseHash('b0'.repeat(32)), size };
}

function compressed({ hash, size }: Digest): string {
  return compressedName(hash, size);
}

async function expectUnmoved(attack: () => Promise<void>): Promise<void> {
  const pid = server.child.pid ?? 0;
  forgetPeak(pid);
  const atRest = residentBytes(pid);
  const spent = processorMs(pid);
  await attack();
  const tookMs = processorMs(pid) - spent;
  seen.dearestMs = Math.max(seen.dearestMs, tookMs);
  seen.memory = Math.max(seen.memory, peakBytes(pid) - atRest);
  seen.refused++;
  expect(peakBytes(pid) - atRest).toBeLessThan(MOST_MEMORY);
  expect(tookMs).toBeLessThan(MOST_PROCESSOR_MS);
  expect(readdirSync(join(shop.store, LAYOUT_VERSION, 'staging'))).toEqual([]);
  expect(server.child.exitCode).toBeNull();
}

describe('a zstd bomb', () => {
  test.each([
    ['10 KiB to 320 MiB, announced as 100 bytes', 320 * MIB, 100],
    ['10 KiB to 320 MiB, announced as it is', 320 * MIB, 320 * MIB],
    ['320 KiB to 10 GiB, announced as 1 MiB', 10 * GIB, MIB],
    ['320 KiB to 10 GiB, announced as it is', 10 * GIB, 10 * GIB],
  ])('%s is refused over ByteStream', async (_, size, announced) => {
    const bomb = bombOf(size);
    await expectUnmoved(async () => {
      const { status } = await reapi.write(compressed(wrongDigest(announced)), bomb);
      expect(status).toBe('INVALID_ARGUMENT');
    });
  });

  test.each([
    ['announced as it is', 320 * MIB],
    ['announced as 4 KiB', 4 * KIB],
  ])('10 KiB to 320 MiB, %s, is refused in a batch', async (_, announced) => {
    await expectUnmoved(async () => {
      const answer = await reapi.batchUpdate({
        digest: wrongDigest(announced),
        data: bombOf(320 * MIB),
        zstd: true,
      });
      const isTaken = answer.status === 'OK' && answer.messages.some((message) => !message.includes('ASSAY'));
      expect(isTaken).toBe(false);
    });
  });
});

describe('content encodings', () => {
  const bomb = gzipSync(Buffer.alloc(10 * MIB));

  test('are not decoded in an upload: the server answers 415', async () => {
    await expectUnmoved(async () => {
      for (const encoding of ['gzip', 'zstd', 'br', 'deflate, gzip']) {
        const { statusCode, body } = await request(
          `${server.url}/cas/${digestOf(Buffer.alloc(10 * MIB)).hash}`,
          {
            method: 'PUT',
            headers: { 'content-encoding': encoding },
            body: bomb,
          },
        );
        await body.dump();
        expect(statusCode).toBe(415);
      }
    });
  });

  test(`stacked ${STACKED} deep in one header are refused`, async () => {
    const stacked = stackedEncodings(STACKED);
    await expectUnmoved(async () => {
      for (const name of ['content-encoding', 'accept-encoding', 'transfer-encoding', 'grpc-encoding']) {
        const answer = await fetchRaw(
          `PUT /cas/${'a'.repeat(64)} HTTP/1.1\r\nhost: localhost\r\n${name}: ${stacked}\r\n\r\n`,
        );
        expect(answer).toMatch(/^HTTP\/1\.1 (400|415|431)/);
      }
    });
  });

  test('of a gRPC message are refused', async () => {
    await expectUnmoved(async () => {
      const call = reapi.grpc.open(
        '/build.bazel.remote.execution.v2.ContentAddressableStorage/FindMissingBlobs',
        {
          'grpc-encoding': 'gzip',
        },
      );
      const head = Buffer.from([1, 0, 0, 0, 0]);
      head.writeUInt32BE(bomb.length, 1);
      call.stream.end(Buffer.concat([head, bomb]));
      expect((await call.answer()).status).toBe('UNIMPLEMENTED');
    });
  });
});

test('after all bombs the server is healthy and stores none of them', async () => {
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  expect(await reapi.missing(wrongDigest(320 * MIB), wrongDigest(100))).toHaveLength(2);
  keepFigures('bombs', {
    bombs: seen.refused,
    'taken or kept': 0,
    'most processor time for one (ms)': seen.dearestMs,
    'memory (MiB)': Math.ceil(seen.memory / MIB),
  });
});

async function fetchRaw(text: string): Promise<string> {
  const { connect } = await import('node:net');
  const { port } = new URL(server.url);
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect(Number(port), '127.0.0.1', () => socket.write(text));
    socket.setEncoding('latin1').on('data', (piece) => {
      answer += piece;
    });
    socket.on('error', () => {}).on('close', () => resolve(answer));
  });
}
