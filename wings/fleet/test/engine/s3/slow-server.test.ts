// A server that reads slowly: pieces wait in the socket while the content already makes the next one.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { openS3Objects } from '../../../engine/s3/s3-objects.ts';
import { readS3Settings } from '../../../engine/s3/settings.ts';
import { numbered, reused } from './pieces.ts';

it.each([10_000, 60_000, 300_000, 1_048_576])('sends pieces of %i bytes as they were', async (step) => {
  const received: Buffer[] = [];
  const server = createServer({ highWaterMark: 1024 }, async (request, response) => {
    await sleep(100);
    for await (const piece of request) received.push(piece);
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const objects = await openS3Objects(
    readS3Settings('s3://bucket', {
      AWS_ENDPOINT_URL: `http://127.0.0.1:${port}`,
      AWS_ACCESS_KEY_ID: 'key',
      AWS_SECRET_ACCESS_KEY: 'secret',
    }),
  );
  const size = 12_000_000;
  await objects.put('slow', reused(size, step), size);
  await objects.close();
  expect(Buffer.concat(received).equals(numbered(size))).toBe(true);
});
