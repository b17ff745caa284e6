// TLS on the one port: HTTP/1 and gRPC by ALPN and first bytes, client certificates, and rejected clients.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ConnectionOptions, connect } from 'node:tls';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { loadTlsIdentity } from '../../../server/connection/tls.ts';
import { keepReloadingTls } from '../../../server/connection/tls-reload.ts';
import { DEFAULT_FORM } from '../../rig/assay.ts';
import { type Certificates, makeCertificates } from '../../rig/certificates.ts';
import { GrpcClient } from '../../rig/grpc.ts';
import { ServerProcess } from '../../rig/server.ts';
import { ReapiClient } from '../protocols/reapi/rig.ts';
import { RawConnection, storeWith, type TestServer, testServer } from '../rig.ts';

const folder = mkdtempSync(join(tmpdir(), 'assay-tls-'));
let files: Certificates;
let ca: Buffer;

beforeAll(() => {
  files = makeCertificates(folder);
  ca = readFileSync(files.ca);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function tlsServer(options: { isMutual?: boolean; host?: string; token?: string } = {}): Promise<TestServer> {
  const { isMutual = false, ...rest } = options;
  return testServer({
    tls: loadTlsIdentity({ ...files.server, clientCa: isMutual ? files.ca : undefined }),
    ...rest,
  });
}

function get(server: TestServer, path: string, options: ConnectionOptions = {}): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port: server.port, path, ca, agent: false, ...options }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    })
      .on('error', reject)
      .end();
  });
}

async function grpcTo(server: TestServer, options: ConnectionOptions = {}): Promise<ReapiClient> {
  const grpc = await GrpcClient.to(`https://127.0.0.1:${server.port}`, {}, { ca, ...options });
  onTestFinished(() => grpc.close());
  return new ReapiClient(grpc);
}

/** Resolves when the server closes a connection that starts as HTTP/2. */
function grpcIsClosed(server: TestServer): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect({ port: server.port, host: '127.0.0.1', ca, ALPNProtocols: ['h2'] });
    socket.on('error', () => {}).on('close', () => resolve());
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  });
}

test('HTTP/1 and gRPC are both served over TLS', async () => {
  const server = await tlsServer();
  expect(server.url).toMatch(/^https:/);
  const client = await grpcTo(server);
  const bytes = Buffer.alloc(3_000_000, 'inside TLS');
  const digest = digestOf(bytes);
  await client.write(`uploads/one/blobs/${digest.hash}/${digest.size}`, bytes);
  expect((await client.readBytes(`blobs/${digest.hash}/${digest.size}`)).equals(bytes)).toBe(true);
  expect(await get(server, `/cas/${digest.hash}`)).toBe(200);
});

test.each([
  [['h2'], 'h2'],
  [['http/1.1'], 'http/1.1'],
  [['h2', 'http/1.1'], 'http/1.1'],
  [undefined, false],
])('a client that offers %j by ALPN gets %s', async (offered, expected) => {
  const server = await tlsServer();
  const options = { port: server.port, host: '127.0.0.1', ca, ...(offered && { ALPNProtocols: offered }) };
  const agreed = await new Promise((resolve, reject) => {
    const socket = connect(options, () => {
      resolve(socket.alpnProtocol);
      socket.destroy();
    });
    socket.on('error', reject);
  });
  expect(agreed).toBe(expected);
});

describe('clients with certificates', () => {
  const identity = (of: { cert: string; key: string }) => ({
    cert: readFileSync(of.cert),
    key: readFileSync(of.key),
  });

  test('are accepted, over HTTP and gRPC', async () => {
    const server = await tlsServer({ isMutual: true });
    expect(await get(server, '/healthz', identity(files.client))).toBe(200);
    const client = await grpcTo(server, identity(files.client));
    expect((await client.capabilities()).cacheCapabilities).toBeDefined();
  });

  test('are rejected without one, or with one of another authority', async () => {
    const server = await tlsServer({ isMutual: true });
    await expect(get(server, '/healthz')).rejects.toThrow();
    await expect(get(server, '/healthz', identity(files.stranger))).rejects.toThrow();
    await grpcIsClosed(server);
  });
});

test('TLS on a network requires a token, unless clients need certificates', async () => {
  await expect(tlsServer({ host: '0.0.0.0' })).rejects.toThrow('ASSAY_OPEN_NETWORK');
  await (await tlsServer({ host: '0.0.0.0', token: 'a token' })).stop();
  await (await tlsServer({ host: '0.0.0.0', isMutual: true })).stop();
});

test.each([
  ['plain HTTP', 'GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n'],
  ['a plain preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['noise', Buffer.alloc(1000, 0x16)],
])('%s on a TLS port closes only that connection', async (_name, bytes) => {
  const server = await tlsServer();
  const connection = await RawConnection.to(server);
  connection.send(bytes);
  await connection.untilClosed();
  expect(await get(server, '/healthz')).toBe(200);
});

test('a connection without a handshake is closed', async () => {
  const tls = loadTlsIdentity(files.server);
  const server = await testServer({ tls, limits: { noProgressMs: 100, sweepMs: 10 } });
  await (await RawConnection.to(server)).untilClosed();
});

test('stop does not wait for a missing handshake, and finishes requests under way', async () => {
  const tls = loadTlsIdentity(files.server);
  const isHeld = Promise.withResolvers<void>();
  const store = storeWith({
    async get() {
      await isHeld.promise;
      return { size: 1, bytes: Buffer.alloc(1) };
    },
  });
  const server = await testServer({
    tls,
    store,
    limits: { drainMs: 10 * 60_000, noProgressMs: 10 * 60_000 },
  });
  const silent = await RawConnection.to(server);
  const asked = get(server, `/cas/${'a'.repeat(64)}`);
  await delay(200);
  const stopped = server.stop();
  await silent.untilClosed();
  isHeld.resolve();
  expect(await asked).toBe(200);
  await stopped;
});

test('stop closes open TLS connections', async () => {
  const server = await tlsServer();
  await grpcTo(server);
  await server.stop();
});

describe('loadTlsIdentity refuses files', () => {
  test.each([
    ['that do not exist', () => ({ ...files.server, cert: join(folder, 'nothing') })],
    ['with the key of another certificate', () => ({ cert: files.server.cert, key: files.client.key })],
    ['that are not PEM', () => ({ ...files.server, key: noise() })],
  ])('%s', (_name, paths) => {
    expect(() => loadTlsIdentity(paths())).toThrow('ASSAY_BAD_CERTIFICATE');
  });

  function noise(): string {
    const file = join(folder, 'noise');
    writeFileSync(file, 'not a key');
    return file;
  }
});

test.each([DEFAULT_FORM, 'executable'] as const)('assay serve --tls-cert …: %s', async (form) => {
  const flags = ['--tls-cert', files.server.cert, '--tls-key', files.server.key];
  const server = await ServerProcess.start(join(folder, `store-${form}`), { form, args: flags });
  try {
    const grpc = await GrpcClient.to(server.url, {}, { ca });
    const client = new ReapiClient(grpc);
    const bytes = Buffer.alloc(3_000_000, 'inside TLS');
    const digest = digestOf(bytes);
    await client.write(`uploads/one/blobs/${digest.hash}/${digest.size}`, bytes);
    expect((await client.readBytes(`blobs/${digest.hash}/${digest.size}`)).equals(bytes)).toBe(true);
    grpc.close();
  } finally {
    await server.stop();
  }
});

describe('a certificate that is replaced while the server runs', () => {
  /** Copies of the server's files, to be replaced, and the subject of the certificate that it presents. */
  async function renewing() {
    const own = mkdtempSync(join(folder, 'renewing-'));
    const at = { cert: join(own, 'cert'), key: join(own, 'key') };
    const place = (name: 'cert' | 'key', file: string) => writeFileSync(at[name], readFileSync(file));
    place('cert', files.server.cert);
    place('key', files.server.key);
    const shown = loadTlsIdentity(at);
    const server = await testServer({ tls: shown });
    const said: string[] = [];
    const log = pino({ level: 'info' }, { write: (line) => said.push(JSON.parse(line).msg) });
    const stop = new AbortController();
    const reload = { files: at, shown, log, pauseMs: 5, setTlsIdentity: server.setTlsIdentity };
    const ended = keepReloadingTls(reload, stop.signal);
    onTestFinished(() => {
      stop.abort();
      return ended;
    });
    return { server, at, place, said };
  }

  function subject(server: TestServer): Promise<string | undefined> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port: server.port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
        resolve(socket.getPeerCertificate().subject.CN?.toString());
        socket.destroy();
      }).on('error', reject);
    });
  }

  test('is presented to new connections, and no open connection is closed', async () => {
    const { server, place, said } = await renewing();
    const before = await grpcTo(server);
    expect(await subject(server)).toBe('server');
    place('cert', files.client.cert);
    place('key', files.client.key);
    await expect.poll(() => subject(server)).toBe('client');
    expect(said).toContain('reloaded the TLS certificate');
    expect(await before.capabilities()).toBeDefined();
  });

  test('does not stop the server while it is a pipe', async () => {
    const { server, at, place, said } = await renewing();
    rmSync(at.cert);
    execFileSync('mkfifo', [at.cert]);
    await expect
      .poll(() => said)
      .toContain('cannot use the new TLS certificate; the server keeps the old one');
    expect(await subject(server)).toBe('server');
    rmSync(at.cert);
    place('cert', files.client.cert);
    place('key', files.client.key);
    await expect.poll(() => subject(server)).toBe('client');
  });

  test('is not presented before its key is replaced too', async () => {
    const { server, place, said } = await renewing();
    place('cert', files.client.cert);
    await expect
      .poll(() => said)
      .toContain('cannot use the new TLS certificate; the server keeps the old one');
    expect(await subject(server)).toBe('server');
    place('key', files.client.key);
    await expect.poll(() => subject(server)).toBe('client');
  });
});
