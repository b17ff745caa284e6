// Backpressure: a body that arrives faster than the store writes stays in the network, in the installed
// server too.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { RUNTIME_FORMS, Workshop } from '../../rig/assay.ts';
import { forgetPeak, peakBytes, residentBytes } from '../../rig/memory.ts';
import { ServerProcess } from '../../rig/server.ts';

const MIB = 1024 * 1024;
const SENT_MIB = 400;
const HELD_MIB = 100;
const PIECE = Buffer.alloc(MIB, 'a piece of a large blob ');

test.each(RUNTIME_FORMS)('a resumable PUT is not buffered in memory: %s', async (form) => {
  const shop = new Workshop();
  const server = await ServerProcess.start(join(shop.folder, 'served'), { form });
  try {
    const pid = server.child.pid ?? 0;
    expect(await put(server.url, 1)).toMatch(/^HTTP\/1\.1 200 /); // warm up
    forgetPeak(pid);
    const before = residentBytes(pid);
    expect(await put(server.url, SENT_MIB)).toMatch(/^HTTP\/1\.1 200 /);
    expect((peakBytes(pid) - before) / MIB).toBeLessThan(HELD_MIB);
  } finally {
    await server.stop();
    shop.remove();
  }
});

/** Sends as fast as the kernel accepts it. */
async function put(url: string, mebibytes: number): Promise<string> {
  const { hostname: host, port } = new URL(url);
  const hash = createHash('sha256');
  for (let n = 0; n < mebibytes; n++) hash.update(PIECE);
  const socket = connect({ host, port: Number(port) });
  let answer = '';
  socket.setEncoding('latin1').on('data', (text: string) => {
    answer += text;
  });
  const head = [`PUT /cas/${hash.digest('hex')} HTTP/1.1`, 'host: localhost', 'upload-complete: ?1'];
  socket.write([...head, `content-length: ${mebibytes * MIB}`, 'connection: close', '', ''].join('\r\n'));
  for (let n = 0; n < mebibytes; n++) if (!socket.write(PIECE)) await once(socket, 'drain');
  await once(socket, 'close');
  return answer;
}
