// The proxies of examples/proxy, as they are but for their addresses: HTTP, gRPC and a client's run pass through.
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { Workshop } from '../rig/assay.ts';
import { makeCertificates } from '../rig/certificates.ts';
import { ServerProcess } from '../rig/server.ts';

const EXAMPLES = join(import.meta.dirname, '../../examples/proxy');

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
});
afterEach(() => shop.remove());

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}

async function untilListening(port: number): Promise<void> {
  for (;;) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
      socket.once('close', () => socket.destroy());
    });
    if (isOpen) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** For nginx of a user who may not write where Debian has these. */
function temporaryFolders(folder: string): string {
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return kinds.map((kind) => `${kind}_temp_path ${join(folder, kind)};`).join('\n');
}

test.each([
  [
    'nginx.conf',
    (file: string) => ['nginx', '-e', 'stderr', '-c', file, '-g', `daemon off; pid ${file}.pid;`],
  ],
  ['haproxy.cfg', (file: string) => ['haproxy', '-f', file, '-db']],
])('%s passes HTTP and gRPC on to the server', async (name, command) => {
  const { ca, server: identity } = makeCertificates(shop.folder);
  const both = shop.write(
    'both.pem',
    readFileSync(identity.cert, 'utf8') + readFileSync(identity.key, 'utf8'),
  );
  const token = 'a-token-of-the-whole-server';
  const server = await ServerProcess.start(join(shop.folder, 'served'), { env: { ASSAY_TOKEN: token } });
  onTestFinished(() => server.kill());
  const port = await freePort();
  const text = readFileSync(join(EXAMPLES, name), 'utf8')
    .replace(/listen 443 |bind :443 /, (found) => found.replace(/:?443/, `127.0.0.1:${port}`))
    .replace('http {', (found) => `${found}\n${temporaryFolders(shop.folder)}`)
    .replaceAll('127.0.0.1:8980', new URL(server.url).host)
    .replaceAll('/etc/assay/cert.pem', identity.cert)
    .replaceAll('/etc/assay/key.pem', identity.key)
    .replaceAll('/etc/assay/both.pem', both);
  writeFileSync(join(shop.folder, name), text);
  const [program = '', ...args] = command(join(shop.folder, name));
  const proxy = spawn(program, args, { stdio: 'inherit', cwd: shop.folder });
  onTestFinished(() => void proxy.kill());
  await untilListening(port);

  const url = `https://127.0.0.1:${port}`;
  const env = { NODE_EXTRA_CA_CERTS: ca, ASSAY_TOKEN: token };
  const { code, stdout } = await shop.assay(['doctor', '--server', url], { env });
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^ok +grpc +grpcs:.* answers/m)]);
  for (const [at, remote] of [url, url.replace('https', 'grpcs')].entries()) {
    const output = `out-${at}`;
    const step = [
      '--remote',
      remote,
      '--output',
      output,
      '--',
      '/bin/sh',
      '-c',
      `head -c 300000 /dev/zero > ${output}`,
    ];
    expect((await shop.run(step, { env })).summary).toMatchObject({ outcome: 'miss', shared: true });
    const clone = shop.another(`clone-${at}`);
    const store = { ...env, ASSAY_STORE: join(shop.folder, `store-${at}`) };
    expect((await shop.run(step, { cwd: clone, env: store })).summary).toMatchObject({
      outcome: 'hit-remote',
    });
  }
});
