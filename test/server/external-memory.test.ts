import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { digestOf } from '../../core/digest.ts';
import { ServerProcess } from '../rig/server.ts';
import { reapiClient } from './wire/reapi/rig.ts';

const MIB = 1024 * 1024;
const UPLOADS = 6;

/** Starts the server's node with a line on its output for each collection. */
const TELLING_COLLECTIONS = ['sh', '-c', 'node=$1; shift; exec "$node" --trace-gc "$@"', 'sh'];

test('uploads over gRPC do not make V8 mark its whole heap again and again', {
  timeout: 60_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'assay-external-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const server = await ServerProcess.start(join(folder, 'store'), { wrapper: TELLING_COLLECTIONS });
  onTestFinished(() => server.kill());
  let said = '';
  server.child.stdout?.on('data', (text: string) => {
    said += text;
  });
  const client = await reapiClient(server.url);
  const content = randomBytes(64 * MIB);
  for (let upload = 0; upload < UPLOADS; upload++) {
    content[0] = upload;
    const { hash, size } = digestOf(content);
    const { status } = await client.write(`uploads/${upload}/blobs/${hash}/${size}`, content);
    expect(status).toBe('OK');
  }
  await server.stop();
  expect(said).toContain('Scavenge');
  expect(said.match(/Mark-Compact/g)?.length ?? 0).toBeLessThan(UPLOADS);
});
