// @actions/cache, the library behind actions/cache and most setup actions: one runner saves, another
// restores.
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import type { Workshop } from '../rig/assay.ts';
import { ServerProcess } from '../rig/server.ts';
import { forgetfulServer, MINUTES, run, servedFrom, TOKEN, workshop } from './rig.ts';
import { checkScopedBuilds } from './scoped-builds.ts';

/** Larger caches are uploaded in blocks. */
const SINGLE_UPLOAD_BYTES = 128 * 1024 * 1024;
/** Made by the first step, and used by the next. */
const COMPILED = mkdtempSync(join(tmpdir(), 'assay-compiled-'));
afterAll(() => rmSync(COMPILED, { recursive: true, force: true }));

const SIZES = { 'in one upload': 3_000_000, 'in blocks': SINGLE_UPLOAD_BYTES + 1_000_000 };

test.each(Object.entries(SIZES))(
  'a cache that one runner saved %s is restored by another',
  { timeout: 4 * MINUTES },
  async (_how, size) => {
    const shop = workshop();
    const url = await servedFrom(shop);
    const bytes = randomBytes(size);
    fill(shop, bytes);
    expect(await step(shop, url, 'save', 'deps-1')).toMatch(/^answer: [1-9]\d*$/m);
    empty(shop);
    const said = await step(shop, url, 'restore', 'deps-1');
    expect(said).toContain('Cache hit for: deps-1');
    expect(said).toContain('answer: deps-1');
    expect(kept(shop).equals(bytes)).toBe(true);
  },
);

test('a cache is restored by a prefix of its key, and saved only once', {
  timeout: 2 * MINUTES,
}, async () => {
  const shop = workshop();
  const url = await servedFrom(shop);
  fill(shop, Buffer.from('one'));
  await step(shop, url, 'save', 'deps-linux-1');
  expect(await step(shop, url, 'save', 'deps-linux-1')).toContain('answer: -1');
  fill(shop, Buffer.from('two'));
  await step(shop, url, 'save', 'deps-linux-2');
  empty(shop);
  const said = await step(shop, url, 'restore', 'deps-linux-3', 'deps-mac-', 'deps-linux-');
  expect(said).toContain('Cache hit for restore-key: deps-linux-2');
  expect(kept(shop).toString()).toBe('two');
  expect(await step(shop, url, 'restore', 'other', 'nothing-')).toContain('answer: undefined');
});

test('a read-only server reports that it denies a save', { timeout: 2 * MINUTES }, async () => {
  const shop = workshop();
  const url = await servedFrom(shop, 'source', ['--read-only']);
  fill(shop, Buffer.from('one'));
  const said = await step(shop, url, 'save', 'deps-1');
  expect(said).toContain('cache write denied: this server is read-only');
  expect(said).not.toContain('another job');
  expect(said).toContain('answer: -1');
});

/** As the action does: restores, else builds and saves. */
test('@actions/cache with tokens of main, of a pull request and of a reader', {
  timeout: 4 * MINUTES,
}, async () => {
  const shop = workshop();
  await checkScopedBuilds(shop, {
    async build(words, url, { token }) {
      const key = words.replaceAll(' ', '-');
      fill(shop, Buffer.from(''));
      empty(shop);
      const restored = await stepAs(token, shop, url, 'restore', key);
      if (restored.includes(`answer: ${key}`)) return { said: restored, made: kept(shop).toString() };
      const made = randomUUID();
      fill(shop, Buffer.from(made));
      return { said: restored + (await stepAs(token, shop, url, 'save', key)), made };
    },
    hit: /Cache hit for: /,
    isSlow: true,
    denied: /cache write denied: the token lacks the right results:write and blobs:write and labels:write/,
    revoked: undefined,
  });
});

/** The server loses its reservations and its signed URLs. */
test.each([
  ['the upload', (url: string) => url.startsWith('/actions/upload/'), 'ASSAY_BAD_TICKET'],
  [
    'the last call',
    (url: string) => url.endsWith('/FinalizeCacheEntryUpload'),
    'no upload since the server started',
  ],
])(
  'a server that restarts before %s refuses the save, and the next one succeeds',
  {
    timeout: 4 * MINUTES,
  },
  async (_when, isMoment, words) => {
    const shop = workshop();
    const server = await restartingServer(shop, isMoment);
    fill(shop, Buffer.from('one'));
    const said = await step(shop, server.url, 'save', 'deps-1');
    expect(server.restarts).toBe(1);
    expect(said).toContain('Failed to save');
    expect(said).toContain(words);
    expect(said).toContain('answer: -1');
    expect(await step(shop, server.url, 'restore', 'deps-1', 'deps-')).toContain('answer: undefined');
    expect(await step(shop, server.url, 'save', 'deps-1')).toMatch(/^answer: [1-9]\d*$/m);
    empty(shop);
    await step(shop, server.url, 'restore', 'deps-1');
    expect(kept(shop).toString()).toBe('one');
  },
);

test('a server that keeps nothing restores nothing', { timeout: 2 * MINUTES }, async () => {
  const shop = workshop();
  const url = await forgetfulServer();
  fill(shop, Buffer.from('one'));
  await step(shop, url, 'save', 'deps-1');
  expect(await step(shop, url, 'restore', 'deps-1', 'deps-')).toContain('answer: undefined');
});

/** `assay serve` behind a proxy that restarts it before it passes the first such request on. */
async function restartingServer(shop: Workshop, isMoment: (url: string) => boolean) {
  const start = () => ServerProcess.start(shop.store, { env: { ASSAY_TOKEN: TOKEN } });
  const state = { url: '', restarts: 0, server: await start() };
  const proxy = createServer(async (request, response) => {
    if (state.restarts === 0 && isMoment(request.url ?? '')) {
      state.restarts++;
      await state.server.stop();
      state.server = await start();
    }
    const target = new URL(request.url ?? '', state.server.url);
    const onward = httpRequest(target, { method: request.method ?? 'GET', headers: request.headers });
    onward.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const address = proxy.address();
  state.url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  onTestFinished(async () => {
    proxy.closeAllConnections();
    proxy.close();
    await state.server.stop();
  });
  return state;
}

function fill({ workspace }: Workshop, bytes: Buffer): void {
  mkdirSync(join(workspace, 'deps'), { recursive: true });
  writeFileSync(join(workspace, 'deps', 'file'), bytes);
}

function empty({ workspace }: Workshop): void {
  rmSync(join(workspace, 'deps'), { recursive: true });
}

function kept({ workspace }: Workshop): Buffer {
  return readFileSync(join(workspace, 'deps', 'file'));
}

function step(shop: Workshop, url: string, ...args: readonly [string, ...string[]]): Promise<string> {
  return stepAs(TOKEN, shop, url, ...args);
}

function stepAs(
  token: string,
  { folder, workspace }: Workshop,
  url: string,
  ...args: readonly [string, ...string[]]
): Promise<string> {
  const [verb, ...keys] = args;
  return run([process.execPath, join(import.meta.dirname, 'actions-cache.ts'), verb, 'deps', ...keys], {
    cwd: workspace,
    home: folder,
    env: {
      ACTIONS_CACHE_SERVICE_V2: 'true',
      ACTIONS_RESULTS_URL: `${url}/`,
      ACTIONS_RUNTIME_TOKEN: token,
      GITHUB_WORKSPACE: workspace,
      RUNNER_TEMP: folder,
      /** Else each step compiles @actions/cache again, which takes half of its CPU time. */
      NODE_COMPILE_CACHE: COMPILED,
    },
  });
}
