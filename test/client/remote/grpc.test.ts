// `assay run --remote grpc://…` against another implementation of a server, healthy and faulty.
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DEFAULT_FORM, type Form, type RanWithSummary, RUNTIME_FORMS, Workshop } from '../../rig/assay.ts';
import { makeCertificates } from '../../rig/certificates.ts';
import { makeQuickFolder } from '../../rig/folders.ts';
import { ReapiServer } from '../../rig/reapi-server.ts';
import { ServerProcess } from '../../rig/server.ts';
import { describeTree } from '../../rig/tree.ts';

let shop: Workshop;
const servers: ReapiServer[] = [];
const closers: (() => Promise<void>)[] = [];

beforeEach(() => {
  shop = new Workshop();
  shop.write('in.txt', 'input');
  shop.script(
    'make.sh',
    'mkdir -p out/many',
    'cp in.txt out/a',
    'for i in $(seq 60); do echo $i > out/many/$i; done',
    'head -c 3000000 /dev/urandom > out/large',
    'ln -s a out/link',
    'echo said',
  );
});

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
  for (const server of servers.splice(0)) await server.stop();
  shop.remove();
});

async function start(fault = 'none'): Promise<ReapiServer> {
  const server = await ReapiServer.start(shop.folder, fault);
  servers.push(server);
  return server;
}

function build(url: string, store: string, form: Form = DEFAULT_FORM): Promise<RanWithSummary> {
  const flags = ['--remote', url, '--store', `${shop.folder}/${store}`, '--input', 'in.txt'];
  return shop.run([...flags, '--input', 'make.sh', '--output', 'out', '--', './make.sh'], { form });
}

const made = () => describeTree(`${shop.workspace}/out`);
const forget = () => rmSync(`${shop.workspace}/out`, { recursive: true });

describe.each(RUNTIME_FORMS)('%s', (form) => {
  test('another machine restores the same bytes', async () => {
    const server = await start();
    expect((await build(`${server.url}/some/instance`, 'one', form)).summary).toMatchObject({
      outcome: 'miss',
      shared: true,
      warnings: [],
    });
    const built = made();
    forget();
    const again = await build(`${server.url}/some/instance`, 'two', form);
    expect(again.summary).toMatchObject({ outcome: 'hit-remote', warnings: [] });
    expect(again.stdout).toBe('said\n');
    expect(made()).toEqual(built);
    expect((await build(`${server.url}/another`, 'three', form)).summary.outcome).toBe('miss');
  });
});

test('many small blobs are sent in few calls, and existing blobs are not sent again', async () => {
  const server = await start();
  await build(server.url, 'one');
  const sent = (name: string) => server.calls.filter((call) => call.startsWith(name));
  expect(sent('asked')).toHaveLength(1);
  expect(sent('batch-update').length).toBeLessThanOrEqual(2);
  expect(sent('write')).toEqual(['write 0']);
  forget();
  await build(server.url, 'two');
  expect(sent('read')).toHaveLength(1);
  expect(sent('batch-read').length).toBeLessThanOrEqual(3);
  shop.write('in.txt', 'another input');
  await build(server.url, 'three');
  const updated = sent('batch-update').map((call) => Number(call.split(' ')[1]));
  expect(updated.at(-1)).toBeLessThan(20);
});

test('an upload that breaks six times is resumed at its offset', async () => {
  const server = await start('breaks');
  expect((await build(server.url, 'one')).summary).toMatchObject({ outcome: 'miss', shared: true });
  const offsets = server.calls
    .filter((call) => call.startsWith('write'))
    .map((call) => Number(call.slice(6)));
  expect(offsets.length).toBeGreaterThan(2);
  expect(offsets).toEqual([...offsets].sort((a, b) => a - b));
  expect(new Set(offsets).size).toBe(offsets.length);
  forget();
  expect((await build(server.url, 'two')).summary.outcome).toBe('hit-remote');
});

/** A proxy that repeatedly breaks the connection after so many uploaded bytes, which do arrive. */
async function breakingLine(url: string, bytes: number): Promise<{ url: string; connections(): number }> {
  const port = Number(new URL(url).port);
  const open = new Set<Socket>();
  let connections = 0;
  const line = createServer((client) => {
    connections++;
    const server = connect(port, '127.0.0.1');
    let sent = 0;
    const cut = () => {
      client.destroy();
      server.end();
    };
    for (const socket of [client, server]) open.add(socket.on('error', cut).on('close', cut));
    client.on('data', (piece: Buffer) => {
      sent += piece.length;
      if (sent > bytes) cut();
      else server.write(piece);
    });
    server.pipe(client);
  });
  await once(line.listen(0, '127.0.0.1'), 'listening');
  closers.push(async () => {
    for (const socket of open) socket.destroy();
    line.close();
  });
  const address = line.address();
  const own = typeof address === 'object' ? address?.port : undefined;
  return { url: `grpc://127.0.0.1:${own}`, connections: () => connections };
}

test('if the connection breaks after every 4 MB, a blob of 12 MB is uploaded by resuming', async () => {
  // A quick store: the client would rightly give up a server that takes 1.5 s for a sync.
  const store = makeQuickFolder();
  closers.push(async () => rmSync(store, { recursive: true }));
  const server = await ServerProcess.start(store);
  closers.push(() => server.stop());
  const line = await breakingLine(server.url, 4_000_000);
  shop.script('make.sh', 'head -c 12000000 /dev/urandom > out');
  expect((await build(line.url, 'one')).summary).toMatchObject({
    outcome: 'miss',
    shared: true,
    warnings: [],
  });
  expect(line.connections()).toBeGreaterThan(3);
  const made = readFileSync(join(shop.workspace, 'out'));
  rmSync(join(shop.workspace, 'out'));
  expect((await build(server.url.replace('http', 'grpc'), 'two')).summary.outcome).toBe('hit-remote');
  expect(readFileSync(join(shop.workspace, 'out')).equals(made)).toBe(true);
});

test('grpcs:// trusts the system’s certificates, and no others', async () => {
  const { ca, server: identity } = makeCertificates(shop.folder);
  const args = ['--tls-cert', identity.cert, '--tls-key', identity.key];
  const server = await ServerProcess.start(join(shop.folder, 'server'), { args });
  closers.push(() => server.stop());
  const url = server.url.replace(/^https/, 'grpcs');
  const flags = (store: string) => ['--remote', url, '--store', join(shop.folder, store), '--output', 'made'];
  const command = ['--', 'touch', 'made'];
  const trusting = { env: { NODE_EXTRA_CA_CERTS: ca } };
  expect((await shop.run([...flags('one'), ...command], trusting)).summary.shared).toBe(true);
  expect((await shop.run([...flags('two'), ...command], trusting)).summary.outcome).toBe('hit-remote');
  const wary = await shop.run([...flags('three'), ...command]);
  expect(wary.summary).toMatchObject({ outcome: 'miss', shared: false });
  expect(wary.summary.warnings.join()).toContain('certificate');
});

function expectOrdinaryMiss(ran: RanWithSummary, words = 'the remote is not usable'): void {
  expect(ran).toMatchObject({ code: 0, stdout: 'said\n' });
  expect(ran.summary).toMatchObject({ outcome: 'miss', exitCode: 0, published: true, shared: false });
  expect(ran.summary.warnings.join()).toContain(words);
  expect(made()).toHaveLength(64);
}

describe('a gRPC server that', () => {
  test.each([
    ['never answers', 'never', 'too slow'],
    ['sends nonsense', 'nonsense', 'malformed'],
    ['is not available', 'unavailable', 'UNAVAILABLE'],
    ['refuses the token', 'unauthenticated', 'ASSAY_TOKEN'],
    ['has an internal error', 'internal', 'INTERNAL'],
    ['does not support SHA-256', 'no-sha256', 'SHA-256'],
  ])('%s costs only the hits', async (_name, fault, words) => {
    const server = await start(fault);
    const ran = await build(server.url, 'one');
    expectOrdinaryMiss(ran);
    expect(ran.summary.warnings.join()).toContain(words);
  });

  test.each([
    ['says so', 'read-only', 'it accepts no writes'],
    ['is full', 'full', 'RESOURCE_EXHAUSTED'],
  ])('refuses writes, because it %s, costs only the hits', async (_name, fault, words) => {
    const server = await start(fault);
    const ran = await build(server.url, 'one');
    expectOrdinaryMiss(ran, 'the remote takes no results');
    expect(ran.summary.warnings.join()).toContain(words);
  });

  test.each([
    ['flips a bit', 'flip'],
    ['sends half of everything', 'half'],
    ['sends everything twice', 'double'],
    ['sends nothing', 'nothing'],
    ['references blobs that it does not have', 'forgets'],
  ])('%s causes no hit', async (_name, fault) => {
    const server = await start(fault);
    expect((await build(server.url, 'one')).summary.shared).toBe(true);
    forget();
    const ran = await build(server.url, 'two');
    expectOrdinaryMiss(ran);
  });

  test('does not exist costs only the hits', async () => {
    expectOrdinaryMiss(await build('grpc://127.0.0.1:9', 'one'));
  });
});

test.each(['grpc://', 'grpc://host/blobs?x', 'grpcx://host:1'])('the address %s is refused', async (url) => {
  const ran = await shop.assay(['run', '--remote', url, '--', 'true']);
  expect(ran.code).toBe(125);
  expect(ran.stderr).toContain('grpc://');
});
