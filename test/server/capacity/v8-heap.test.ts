import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { ServerProcess } from '../../rig/server.ts';
import { type ReapiClient, reapiClient } from '../protocols/reapi/rig.ts';

const MIB = 1024 * 1024;
const UPLOADS = 6;

/** Starts the server's node with --trace-gc. */
const TRACE_GC = ['sh', '-c', 'node=$1; shift; exec "$node" --trace-gc "$@"', 'sh'];

test('gRPC uploads rarely cause a full V8 garbage collection', {
  timeout: 90_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'assay-external-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const server = await ServerProcess.start(join(folder, 'store'), { wrapper: TRACE_GC });
  onTestFinished(() => server.kill());
  let said = '';
  server.child.stdout?.on('data', (text: string) => {
    said += text;
  });
  const client = await reapiClient(server.url);
  const content = randomBytes(64 * MIB);
  // A fresh server grows its heap for a while, which causes extra collections.
  for (let upload = 0; upload < 2; upload++) await send(client, content);
  expect(said).toContain('Mark-Compact');
  said = '';
  for (let upload = 0; upload < UPLOADS; upload++) await send(client, content);
  await server.stop();
  // Without the setting there are four or more collections for each upload.
  expect(said.match(/Mark-Compact/g)?.length ?? 0).toBeLessThan(2 * UPLOADS);
});

/** Sends new content each time. */
async function send(client: ReapiClient, content: Buffer): Promise<void> {
  randomBytes(16).copy(content);
  const { hash, size } = digestOf(content);
  const { status } = await client.write(`uploads/${hash}/blobs/${hash}/${size}`, content, {
    pieceBytes: MIB / 4,
  });
  expect(status).toBe('OK');
}
