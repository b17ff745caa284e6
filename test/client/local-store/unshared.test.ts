// Results that could not be uploaded are reported and uploaded later. A slow remote that makes progress is
// used.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ActionResult } from '../../../core/proto/generated/reapi.ts';
import { baseEnvironment, FORMS, Workshop } from '../../rig/assay.ts';
import { runSteps } from '../../rig/graph.ts';
import { ServerProcess } from '../../rig/server.ts';

let shop: Workshop;
const closers: (() => Promise<void> | void)[] = [];

beforeEach(() => {
  shop = new Workshop();
  shop.write('in.txt', 'input');
});

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
  shop.remove();
});

const DOWN = 'http://127.0.0.1:9';

function build(url: string, store = 'store', ...more: readonly string[]) {
  const flags = [
    '--remote',
    url,
    '--store',
    `${shop.folder}/${store}`,
    '--input',
    'in.txt',
    '--output',
    'out',
  ];
  return shop.run([...flags, ...more, '--', 'sh', '-c', 'cp in.txt out']);
}

async function serve(port?: number): Promise<ServerProcess> {
  const server = await ServerProcess.start(`${shop.folder}/server`, { ...(port && { port }) });
  closers.push(() => server.stop());
  return server;
}

/** The address of a server that has not started: another one holds its port and closes every connection. */
async function laterServer(): Promise<{ url: string; start(): Promise<ServerProcess> }> {
  const holder = createSocketServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
  const { port } = holder.address() as AddressInfo;
  const release = () => new Promise((resolve) => holder.close(resolve));
  closers.push(() => void release());
  return {
    url: `http://127.0.0.1:${port}`,
    async start() {
      await release();
      return serve(port);
    },
  };
}

async function proxy(answer: (request: Request_, url: string) => Promise<Response> | undefined, url: string) {
  const listener: RequestListener = async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const asked = { method: request.method ?? 'GET', path: request.url ?? '', body: Buffer.concat(chunks) };
    const got = await (answer(asked, url) ?? forward(asked, url));
    response.writeHead(got.status, Object.fromEntries(got.headers));
    for await (const chunk of got.body ?? []) {
      if (response.destroyed) return; // the client has abandoned the download
      response.write(chunk);
    }
    response.end();
  };
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface Request_ {
  readonly method: string;
  readonly path: string;
  readonly body: Buffer;
}

function forward({ method, path, body }: Request_, url: string): Promise<Response> {
  return fetch(url + path, { method, ...(method === 'PUT' && { body: new Uint8Array(body) }) });
}

const elsewhere = (url: string) => {
  rmSync(`${shop.workspace}/out`, { force: true });
  return build(url, 'elsewhere');
};

describe('a result whose upload failed', () => {
  test('is reported, and uploaded by the next run with the remote, even by a local hit', async () => {
    const later = await laterServer();
    const { summary } = await build(later.url);
    expect(summary).toMatchObject({ outcome: 'miss', published: true, shared: false });
    expect(summary.warnings.join()).toContain('1 result was not shared');
    await later.start();
    expect((await build(later.url)).summary).toMatchObject({ outcome: 'hit-local', warnings: [] });
    // Once more, to cover the up-to-date path, with nothing left to send.
    expect((await build(later.url)).summary).toMatchObject({ outcome: 'hit-local', warnings: [] });
    expect((await elsewhere(later.url)).summary).toMatchObject({ outcome: 'hit-remote' });
  });

  test('is uploaded by assay push, which reports what is left', async () => {
    const later = await laterServer();
    await build(later.url);
    const push = () => shop.assay(['push', '--json', '--remote', later.url]);
    const inVain = await push();
    expect(inVain.code).toBe(1);
    expect(JSON.parse(inVain.stdout)).toMatchObject({ shared: 0, unshared: 1, why: expect.any(String) });
    await later.start();
    expect(await push()).toMatchObject({ code: 0, stdout: '{"shared":1,"unshared":0}\n' });
    expect(await push()).toMatchObject({ code: 0, stdout: '{"shared":0,"unshared":0}\n' });
    expect((await elsewhere(later.url)).summary).toMatchObject({ outcome: 'hit-remote' });
  });

  test('is not uploaded to another remote', async () => {
    await build(DOWN);
    const server = await serve();
    expect((await build(server.url)).summary).toMatchObject({ outcome: 'hit-local' });
    expect((await elsewhere(server.url)).summary).toMatchObject({ outcome: 'miss' });
  });

  test('of a graph is counted at its end, and uploaded by its next run', async () => {
    const step = (name: string) => ({
      command: `echo ${name} > ${name}.out`,
      inputs: [],
      outputs: [`${name}.out`],
    });
    shop.write('assay.json', JSON.stringify({ steps: { a: step('a'), b: step('b') } }));
    const later = await laterServer();
    const first = await runSteps(shop, ['--remote', later.url, '*']);
    expect(first.summary).toMatchObject({ misses: 2, unshared: 2, exitCode: 0 });
    expect(first.summary.warnings.join()).toContain('2 results were not shared');
    await later.start();
    // Everything is up to date: nothing else would contact the remote.
    const second = await runSteps(shop, ['--remote', later.url, '*']);
    expect(second.summary).toMatchObject({ hitsLocal: 2, unshared: 0, warnings: [] });
    for (const name of ['a', 'b']) rmSync(`${shop.workspace}/${name}.out`);
    const third = await runSteps(shop, ['--remote', later.url, '--store', `${shop.folder}/other`, '*']);
    expect(third.outcomes).toEqual({ a: 'hit-remote', b: 'hit-remote' });
  });
});

test('a client without write access keeps nothing for later', async () => {
  const server = await ServerProcess.start(`${shop.folder}/server`, { args: ['--read-only'] });
  closers.push(() => server.stop());
  const { summary } = await build(server.url);
  expect(summary.warnings.join()).toContain('takes no results');
  expect(summary.warnings.join()).not.toContain('not shared');
  expect(await shop.assay(['push', '--json', '--remote', server.url])).toMatchObject({
    stdout: '{"shared":0,"unshared":0}\n',
  });
});

describe.each(['http', 'grpc'])(
  'if two machines make different outputs of one action, over %s',
  (protocol) => {
    test('the second run reports it, on a line and in JSON', async () => {
      const url = (await serve()).url.replace(/^http/, protocol);
      const started = shop.another('started');
      const go = `${shop.folder}/go`;
      const script = `mktemp -p ${started}; while [ ! -e ${go} ]; do sleep 0.05; done; head -c 9 /dev/urandom > out`;
      const both = ['one', 'two'].map((name) => {
        const flags = [
          '--hermetic=off',
          '--keep-unproven=shared',
          '--remote',
          url,
          '--store',
          `${shop.folder}/store-${name}`,
        ];
        return shop.run([...flags, '--output', 'out', '--', 'sh', '-c', script], { cwd: shop.another(name) });
      });
      while (readdirSync(started).length < 2) await wait(20);
      shop.write('../go', '');
      const [first, second] = (await Promise.all(both)).sort(
        (a, b) => Number(b.summary.shared) - Number(a.summary.shared),
      );
      expect(first?.summary).toMatchObject({ outcome: 'miss', shared: true });
      expect(first?.summary).not.toHaveProperty('diverged');
      expect(second?.summary).toMatchObject({
        outcome: 'miss',
        published: true,
        shared: false,
        diverged: true,
      });
      const reports = second?.stderr
        .split('\n')
        .filter((line) => /^assay: an earlier run of this action made other/.test(line));
      expect(reports).toHaveLength(1);
    });

    test('the second graph run reports it, too', async () => {
      const url = (await serve()).url.replace(/^http/, protocol);
      const steps = { a: { command: 'head -c 9 /dev/urandom > out', outputs: ['out'] } };
      shop.write('assay.json', JSON.stringify({ steps }));
      const run = (store: string) =>
        runSteps(shop, ['--force', '--remote', url, '--store', `${shop.folder}/${store}`, 'a']);
      expect((await run('one')).summary).not.toHaveProperty('diverged');
      const { summary, events } = await run('two');
      expect(summary).toMatchObject({ misses: 1, diverged: true, unshared: 0 });
      expect(
        events.filter(({ type, text }) => type === 'step-warning' && text?.includes('other outputs')),
      ).toHaveLength(1);
    });
  },
);

describe('a slow remote that makes progress', () => {
  const SIZE = 300_000;
  const PIECES = 12;
  /**
   * The client subtracts the time in which it waits for a CPU, and judges after a second of the rest. The
   * download must be far from its end then, on a busy machine too.
   */
  const MANY_PIECES = 120;

  /** Sends content in pieces, one every 200 ms; the recorded command time is `commandMs`. */
  async function slowly(url: string, commandMs: number, pieces = PIECES): Promise<string> {
    return proxy(async (asked) => {
      // Without a prediction: the result comes by /ac, where its time is changed.
      const got = await forward({ ...asked, path: asked.path.replace(/\?inlined=\d+.*$/, '') }, url);
      if (asked.method !== 'GET' || !got.ok) return got;
      const body = Buffer.from(await got.arrayBuffer());
      if (asked.path.startsWith('/ac')) return new Response(new Uint8Array(lasting(body, commandMs)));
      return new Response(dripping(body, pieces));
    }, url);
  }

  function lasting(bytes: Buffer, commandMs: number): Uint8Array {
    const result = ActionResult.decode(bytes);
    const { executionMetadata: metadata } = result;
    if (!metadata) return bytes;
    const executionStartTimestamp = { seconds: 0, nanos: 0 };
    const executionCompletedTimestamp = {
      seconds: Math.floor(commandMs / 1000),
      nanos: (commandMs % 1000) * 1e6,
    };
    const executionMetadata = { ...metadata, executionStartTimestamp, executionCompletedTimestamp };
    return ActionResult.encode({ ...result, executionMetadata }).finish();
  }

  async function* dripping(body: Buffer, pieces: number): AsyncGenerator<Uint8Array> {
    if (body.length < SIZE) return yield body;
    for (let piece = 0; piece < pieces; piece++) {
      await wait(200);
      yield body.subarray((piece * body.length) / pieces, ((piece + 1) * body.length) / pieces);
    }
  }

  const large = (url: string, store: string) => {
    rmSync(`${shop.workspace}/out`, { force: true });
    const flags = [
      '--hermetic=off',
      '--keep-unproven=shared',
      '--remote',
      url,
      '--store',
      `${shop.folder}/${store}`,
    ];
    return shop.run([...flags, '--output', 'out', '--', 'sh', '-c', `head -c ${SIZE} /dev/zero > out`]);
  };

  test('is used while it is faster than the command', async () => {
    const { url } = await serve();
    expect((await large(url, 'one')).summary.shared).toBe(true);
    const { summary } = await large(await slowly(url, 60_000), 'two');
    expect(summary).toMatchObject({ outcome: 'hit-remote', warnings: [] });
  });

  test('is skipped for a result whose command is faster', async () => {
    const { url } = await serve();
    expect((await large(url, 'one')).summary.shared).toBe(true);
    const { summary } = await large(await slowly(url, 10, MANY_PIECES), 'two');
    expect(summary).toMatchObject({ outcome: 'miss', shared: true });
    expect(summary.warnings.join()).toContain('longer than the command takes');
  });
});

test('a run that gets little CPU time does not give up a healthy server', async () => {
  const { url } = await serve();
  const args = [
    'run',
    '--json',
    '--remote',
    url,
    '--store',
    shop.store,
    '--input',
    'in.txt',
    '--output',
    'out',
  ];
  const [program, ...rest] = [...FORMS.source, ...args, '--', 'sh', '-c', 'cp in.txt out'];
  const child = spawn(program, rest, {
    cwd: shop.workspace,
    env: baseEnvironment(),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const ended = once(child, 'close');
  // Another process has the processor most of the time.
  for (let isStopped = false; child.exitCode === null; isStopped = !isStopped) {
    child.kill(isStopped ? 'SIGCONT' : 'SIGSTOP');
    await wait(isStopped ? 100 : 300);
  }
  child.kill('SIGCONT');
  await ended;
  expect(JSON.parse(said.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({ shared: true, warnings: [] });
});
