// `assay serve` as people and service managers use it: a process, its output, its signals.
import { once } from 'node:events';
import { cpSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { SERVER } from '../../../server/limits.ts';
import { baseEnvironment, runProcess } from '../../rig/assay.ts';
import { contentOf } from '../../store/content.ts';
import { ask, pathOf, putHead, RawConnection } from '../rig.ts';
import { folder, INSTALLED, Serve } from './serve-process.ts';

const MIB = 1024 * 1024;

test('serve prints its address, its store and what to try next', async () => {
  const store = join(folder(), 'store');
  const serve = new Serve(['--port', '0', '--store', store]);
  const url = await serve.url();
  expect(new URL(url).port).not.toBe('0');
  expect(serve.stdout).toContain(`The store is in ${store}`);
  expect(serve.stdout).toMatch(new RegExp(`ASSAY_REMOTE=${url} (npx )?assay run .* -- `));
  expect(JSON.parse((await ask(`${url}/status`)).body.toString())).toMatchObject({ store });
});

test('serve takes its store’s folder from ASSAY_STORE, else from the cache folder', async () => {
  const home = folder();
  const named = new Serve(['--port', '0'], { ASSAY_STORE: join(home, 'named') });
  await named.url();
  expect(named.stdout).toContain(`The store is in ${join(home, 'named')}\n`);
  const cached = new Serve(['--port', '0'], { XDG_CACHE_HOME: home });
  await cached.url();
  expect(cached.stdout).toContain(`The store is in ${join(home, 'assay', 'server')}\n`);
  const fallback = new Serve(['--port', '0'], { HOME: home, XDG_CACHE_HOME: 'not/absolute' });
  await fallback.url();
  expect(fallback.stdout).toContain(`The store is in ${join(home, '.cache', 'assay', 'server')}\n`);
});

test('a running server needs no file of its package, which an upgrade replaces', async () => {
  const root = join(import.meta.dirname, '../../..');
  const place = folder();
  const dist = join(place, 'dist/node');
  cpSync(join(root, 'dist/node'), dist, { recursive: true, verbatimSymlinks: true });
  symlinkSync(join(root, 'node_modules'), join(place, 'node_modules'));
  const args = ['--port', '0', '--store', join(place, 'store')];
  const serve = new Serve(args, {}, [process.execPath, join(dist, 'main.cjs')]);
  const url = await serve.url();
  rmSync(dist, { recursive: true });
  const headers = { accept: 'text/html' };
  for (const page of ['/', '/runs', '/misses', '/storage', '/hermeticity', '/setup'])
    expect((await ask(url + page, 'GET', { headers })).status).toBe(200);
  const artifact = `${url}/ccache/team/75/${'9'.repeat(30)}`;
  expect((await ask(artifact, 'PUT', { body: Buffer.from('an artifact') })).status).toBe(200);
  expect((await ask(artifact)).body.toString()).toBe('an artifact');
  expect((await ask(`${url}/admin/divergences`)).status).toBe(200);
});

test('serve keeps its content across restarts', async () => {
  const store = folder();
  const bytes = contentOf('kept', MIB);
  const first = new Serve(['--port', '0', '--store', store]);
  expect(await ask((await first.url()) + pathOf(digestOf(bytes)), 'PUT', { body: bytes })).toMatchObject({
    status: 200,
  });
  first.child.kill('SIGTERM');
  expect(await first.ended()).toBe(0);
  const second = new Serve(['--port', '0', '--store', store]);
  expect((await ask((await second.url()) + pathOf(digestOf(bytes)))).body.equals(bytes)).toBe(true);
});

test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
  '%s: serve finishes the upload in flight, then exits with 0',
  async (signal) => {
    const store = folder();
    const serve = new Serve(['--port', '0', '--store', store]);
    const port = Number(new URL(await serve.url()).port);
    const bytes = contentOf('in flight', 3 * MIB);
    const connection = await RawConnection.to({ port });
    connection.send(
      putHead(pathOf(digestOf(bytes)), `content-length: ${bytes.length}`, 'expect: 100-continue'),
    );
    await connection.until('100 Continue');
    connection.send(bytes.subarray(0, MIB));
    serve.child.kill(signal);
    while (!serve.stderr.includes('stopping')) await once(serve.child.stderr ?? serve.child, 'data');
    connection.send(bytes.subarray(MIB));
    expect(await connection.untilClosed()).toContain('HTTP/1.1 200 OK');
    expect(await serve.ended()).toBe(0);
    const again = new Serve(['--port', '0', '--store', store]);
    expect((await ask((await again.url()) + pathOf(digestOf(bytes)))).body.equals(bytes)).toBe(true);
  },
);

test('serve --help gives the time limit of a stop', async () => {
  const help = await runProcess([...INSTALLED, 'serve', '--help'], { cwd: '/', env: baseEnvironment() });
  expect(help.stdout).toContain(`waits up to ${SERVER.drainMs / 1000} s for requests in flight`);
});

test('a second signal ends serve at once', async () => {
  const serve = new Serve(['--port', '0', '--store', folder()]);
  const port = Number(new URL(await serve.url()).port);
  const connection = await RawConnection.to({ port });
  connection.send(putHead(pathOf(digestOf(Buffer.from('x'))), 'content-length: 1', 'expect: 100-continue'));
  await connection.until('100 Continue');
  serve.child.kill('SIGTERM');
  while (!serve.stderr.includes('stopping')) await once(serve.child.stderr ?? serve.child, 'data');
  serve.child.kill('SIGTERM');
  expect(await serve.ended()).toBe(128 + 15);
});

test('serve never prints its token', async () => {
  const token = 'the-token-that-must-not-appear';
  const serve = new Serve(['--port', '0', '--store', folder(), '--log-level', 'debug'], {
    ASSAY_TOKEN: token,
  });
  const url = await serve.url();
  const bytes = contentOf('secret', 100);
  const path = url + pathOf(digestOf(bytes));
  const headers = { authorization: `Bearer ${token}` };
  expect(await ask(path, 'PUT', { body: bytes })).toMatchObject({ status: 401 });
  expect(await ask(path, 'PUT', { headers, body: bytes })).toMatchObject({ status: 200 });
  expect(await ask(path, 'PUT', { headers, body: Buffer.from('wrong') })).toMatchObject({ status: 400 });
  await ask(path, 'GET', { headers: { authorization: `Bearer ${token}-almost` } });
  await ask(`${url}/%zz/${token}`, 'GET', { headers });
  await ask(`${url}/${token}/nowhere`, 'GET', { headers });
  const pages = [
    await ask(`${url}/status`, 'GET', { headers }),
    await ask(`${url}/metrics`, 'GET', { headers }),
  ];
  serve.child.kill('SIGTERM');
  expect(await serve.ended()).toBe(0);
  expect(serve.stderr).toContain('ASSAY_DIGEST_MISMATCH');
  const said = [serve.stdout, serve.stderr, ...pages.map(({ body }) => body.toString())].join('\n');
  expect(said).not.toContain(token);
  expect(said).not.toContain(Buffer.from(token).toString('base64').slice(0, 16));
});

test('serve logs JSON lines on standard error', async () => {
  const serve = new Serve(['--port', '0', '--store', folder()]);
  const url = await serve.url();
  serve.child.kill('SIGTERM');
  await serve.ended();
  const lines = serve.stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.map(({ msg }) => msg)).toEqual(['listening', 'stopping', 'stopped']);
  expect(lines[0]).toMatchObject({ url, level: 30 });
});

test('a port in use is reported with an error code', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => {
    taken.close();
  });
  await once(taken, 'listening');
  const address = taken.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const serve = new Serve(['--port', String(port), '--store', folder()]);
  expect(await serve.ended()).toBe(2);
  expect(serve.stderr).toContain('ASSAY_CANNOT_LISTEN');
  expect(serve.stderr).toContain(`port ${port}`);
});

test('an address of another machine is reported with an error code', async () => {
  const serve = new Serve(['--host', '192.0.2.1', '--port', '0', '--read-only', '--store', folder()]);
  expect(await serve.ended()).toBe(2);
  expect(serve.stderr).toContain('ASSAY_CANNOT_LISTEN');
});

test.each(['0.0.0.0', '::'])('serve refuses to listen on %s without a token', async (host) => {
  const serve = new Serve(['--host', host, '--port', '0', '--store', folder()]);
  expect(await serve.ended()).toBe(2);
  expect(serve.stderr).toContain('ASSAY_OPEN_NETWORK');
  expect(serve.stderr).toContain('ASSAY_TOKEN');
});

test('serve listens on all addresses with a token, or read-only', async () => {
  for (const [args, env] of [
    [[], { ASSAY_TOKEN: 'a-token' }],
    [['--read-only'], {}],
  ] as const) {
    const serve = new Serve(['--host', '0.0.0.0', '--port', '0', '--store', folder(), ...args], env);
    const { port } = new URL(await serve.url());
    expect(await ask(`http://127.0.0.1:${port}/healthz`)).toMatchObject({ status: 200 });
  }
});

test('serve treats an empty ASSAY_TOKEN as none', async () => {
  const serve = new Serve(['--host', '0.0.0.0', '--port', '0', '--store', folder()], { ASSAY_TOKEN: '' });
  expect(await serve.ended()).toBe(2);
  expect(serve.stderr).toContain('ASSAY_OPEN_NETWORK');
});

test.each([' ', 'a token', 'token\n'])(
  'an ASSAY_TOKEN that no client can send is refused: %j',
  async (token) => {
    const serve = new Serve(['--port', '0', '--store', folder()], { ASSAY_TOKEN: token });
    expect(await serve.ended()).toBe(2);
    expect(serve.stderr).toContain('contains a space or a line break');
  },
);

test.each([
  [['--port', '70000'], '--port takes a whole number'],
  [['--max-blob', '1k'], '--max-blob takes a whole number'],
  [['--log-level', 'loud'], '--log-level takes debug'],
  [['--prot', '1'], 'did you mean --port?'],
  [['somewhere'], 'serve takes no argument "somewhere"'],
])('serve refuses %s', async (args, words) => {
  const serve = new Serve(args);
  expect(await serve.ended()).toBe(2);
  expect(serve.stderr).toContain(`ASSAY_USAGE`);
  expect(serve.stderr).toContain(words);
});

test('serve --max-blob limits the size of uploads', async () => {
  const serve = new Serve(['--port', '0', '--store', folder(), '--max-blob', '10']);
  const url = await serve.url();
  const bytes = contentOf('eleven', 11);
  expect(await ask(url + pathOf(digestOf(bytes)), 'PUT', { body: bytes })).toMatchObject({ status: 413 });
});
