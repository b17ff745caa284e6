// Known faults of other caches, on graphs: the bytes are always right, and no build fails because of the
// cache.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request as ask, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { splitBlobs } from '../../../core/inlined-blobs.ts';
import { baseEnvironment, FORMS, Workshop } from '../../rig/assay.ts';
import { runSteps } from '../../rig/graph.ts';
import { Random } from '../../rig/random.ts';
import { ServerProcess } from '../../rig/server.ts';
import { describeTree } from '../../rig/tree.ts';

const SEED = Number(process.env.ASSAY_TEST_SEED ?? 20261115);

let shop: Workshop;
const closers: (() => unknown)[] = [];
beforeEach(() => {
  shop = new Workshop();
  shop.write(
    'assay.json',
    JSON.stringify({
      steps: {
        gen: {
          command:
            'sleep 0.05; cat in.txt; mkdir gen; for i in 1 2 3; do { cat in.txt; echo $i; } > gen/$i; done',
          inputs: ['in.txt'],
          outputs: ['gen'],
        },
        build: {
          command:
            'mkdir dist; cat gen/* > dist/all; head -c 200000 /dev/zero > dist/large; cat in.txt >> dist/large',
          inputs: ['in.txt'],
          outputs: ['dist'],
          dependsOn: ['gen'],
        },
      },
    }),
  );
  shop.write('in.txt', 'input\n');
});
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
  shop.remove();
});

const path = (name: string) => join(shop.workspace, name);
const build = (env: Record<string, string> = {}, args: string[] = []) =>
  runSteps(shop, [...args, 'build'], { env, form: 'executable' });
const made = (workspace = shop.workspace) =>
  ['gen', 'dist'].map((name) => describeTree(join(workspace, name)));
const forgetOutputs = () => {
  for (const name of ['gen', 'dist']) rmSync(path(name), { recursive: true });
};

describe('in one workspace', () => {
  test('a changed undeclared file: the next result uses the new file', async () => {
    const steps = { peek: { command: 'cat in.txt hidden.txt > out', inputs: ['in.txt'], outputs: ['out'] } };
    shop.write('assay.json', JSON.stringify({ steps }));
    shop.write('hidden.txt', 'one');
    await runSteps(shop, ['peek']);
    shop.write('hidden.txt', 'two');
    await runSteps(shop, ['peek']);
    expect(readFileSync(path('out'), 'utf8')).toBe('input\ntwo');
  });

  test('a changed undeclared variable: the command never saw it', async () => {
    const steps = { peek: { command: 'echo "$' + '{SECRET-none}" > out', inputs: [], outputs: ['out'] } };
    shop.write('assay.json', JSON.stringify({ steps }));
    for (const SECRET of ['one', 'two']) {
      await runSteps(shop, ['peek'], { env: { SECRET } });
      expect(readFileSync(path('out'), 'utf8')).toBe('none\n');
    }
  });

  test('the order of arguments matters', async () => {
    const keys = new Set<string>();
    for (const words of [
      ['a', 'b'],
      ['b', 'a'],
    ]) {
      shop.write(
        'assay.json',
        JSON.stringify({ steps: { say: { command: ['echo', ...words], inputs: [] } } }),
      );
      const { ends, events } = await runSteps(shop, ['say']);
      keys.add(ends.say?.key ?? '');
      expect(events.find(({ type }) => type === 'step-log')?.text).toBe(`${words.join(' ')}\n`);
    }
    expect(keys.size).toBe(2);
  });

  test.each<[string, () => void]>([
    ['an output is edited by hand', () => writeFileSync(path('dist/all'), 'edited')],
    ['a stray file lies in an output folder', () => writeFileSync(path('gen/4'), 'stray')],
    ['outputs are deleted', () => forgetOutputs()],
  ])('%s: the next run restores it', async (_, spoil) => {
    await build();
    const right = made();
    spoil();
    expect((await build()).summary).toMatchObject({ hitsLocal: 2, exitCode: 0 });
    expect(made()).toEqual(right);
  });
});

test(`killed at any moment (seed ${SEED}), the next run is right, and finished steps are hits`, async () => {
  const began = performance.now();
  await build();
  const usual = performance.now() - began;
  const right = made();
  const random = new Random(SEED);
  const [program, ...before] = FORMS.executable;
  let killed = 0;
  for (let round = 0; round < 12; round++) {
    forgetOutputs();
    rmSync(shop.store, { recursive: true });
    const child = spawn(program, [...before, 'run', 'build'], {
      cwd: shop.workspace,
      env: { ...baseEnvironment(), ASSAY_STORE: shop.store },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    const ended = once(child, 'close');
    await Promise.race([ended, wait(random.below(Math.ceil(usual)))]);
    if (child.kill('SIGKILL')) killed++;
    await ended;
    const next = await build();
    expect(next.summary.exitCode).toBe(0);
    if (said.includes('gen  ran')) expect(next.outcomes.gen).toBe('hit-local');
    expect(made()).toEqual(right);
  }
  expect(killed).toBeGreaterThan(3);
});

describe('between two machines', () => {
  /**
   * A server with all results, behind a proxy that corrupts each blob, whether requested or inlined.
   */
  async function remoteThrough(spoil: (body: Buffer) => { body: Buffer; cut: boolean }): Promise<string> {
    const server = await ServerProcess.start(join(shop.folder, 'server'), { form: 'executable' });
    closers.push(() => server.stop());
    await build({ ASSAY_REMOTE: server.url });
    const proxy = createServer((incoming, answer) => {
      const { method = 'GET', url = '/', headers } = incoming;
      const asked = ask(`${server.url}${url}`, { method, headers }, (got) => {
        const chunks: Buffer[] = [];
        got.on('data', (chunk: Buffer) => chunks.push(chunk));
        got.on('end', () => {
          const whole = Buffer.concat(chunks);
          const isContent = method === 'GET' && got.statusCode === 200;
          const resultBytes = url.includes('/ac/') ? splitBlobs(whole).result.length : 0;
          const hasBlobs = isContent && whole.length > resultBytes;
          const { body, cut } = hasBlobs ? spoil(whole.subarray(resultBytes)) : { body: whole, cut: false };
          answer.writeHead(got.statusCode ?? 500, { 'content-length': whole.length });
          if (hasBlobs) answer.write(whole.subarray(0, resultBytes));
          if (cut) answer.write(body, () => answer.destroy());
          else answer.end(body);
        });
      });
      incoming.pipe(asked);
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    closers.push(() => proxy.close());
    return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  }

  test.each<[string, (body: Buffer) => { body: Buffer; cut: boolean }]>([
    ['a download is cut short', (body) => ({ body: body.subarray(0, body.length >> 1), cut: true })],
    [
      'a byte is flipped in transit',
      (body) => {
        const flipped = Buffer.from(body);
        flipped[flipped.length >> 1] = (flipped[flipped.length >> 1] ?? 0) ^ 1;
        return { body: flipped, cut: false };
      },
    ],
  ])('%s: the step runs instead, and its result is right', async (_, spoil) => {
    const remote = await remoteThrough(spoil);
    const right = made();
    forgetOutputs();
    rmSync(shop.store, { recursive: true });
    const { summary } = await build({ ASSAY_REMOTE: remote });
    expect(summary).toMatchObject({ exitCode: 0, failed: 0, hitsRemote: 0 });
    expect(made()).toEqual(right);
  });

  test('without corruption, the second machine runs nothing', async () => {
    const remote = await remoteThrough((body) => ({ body, cut: false }));
    const right = made();
    const other = shop.another('other');
    for (const name of ['assay.json', 'in.txt']) cpSync(path(name), join(other, name));
    rmSync(shop.store, { recursive: true });
    const { summary } = await runSteps(shop, ['build'], {
      cwd: other,
      env: { ASSAY_REMOTE: remote },
      form: 'executable',
    });
    expect(summary).toMatchObject({ hitsRemote: 2, misses: 0 });
    expect(summary.bytesDown).toBeGreaterThan(200_000);
    expect(made(other)).toEqual(right);
  });
});

describe('concurrently', () => {
  test('two runs of one graph succeed', async () => {
    const [one, two] = await Promise.all([build(), build()]);
    for (const { summary } of [one, two]) expect(summary).toMatchObject({ exitCode: 0, steps: 2, failed: 0 });
    const right = made();
    rmSync(shop.store, { recursive: true });
    forgetOutputs();
    await build();
    expect(made()).toEqual(right);
  });

  test('fifty runs on one local store, in five workspaces, succeed', async () => {
    const spaces = [1, 2, 3, 4, 5].map((at) => {
      const space = shop.another(`space-${at}`);
      cpSync(path('assay.json'), join(space, 'assay.json'));
      writeFileSync(join(space, 'in.txt'), `input ${at % 2}\n`);
      return space;
    });
    const runs = await Promise.all(
      Array.from({ length: 50 }, (_, at) =>
        runSteps(shop, ['build'], { cwd: spaces[at % 5] ?? '', form: 'executable' }),
      ),
    );
    for (const { summary, code } of runs) {
      expect(code).toBe(0);
      expect(summary).toMatchObject({ steps: 2, failed: 0 });
    }
    for (const [at, space] of spaces.entries()) {
      expect(made(space)).toEqual(made(spaces[at % 2 === 0 ? 0 : 1]));
      const { summary } = await runSteps(shop, ['build'], { cwd: space, form: 'executable' });
      expect(summary.hitsLocal).toBe(2);
    }
  });
});
