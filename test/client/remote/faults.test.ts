// A remote that is down, slow, lying or full never changes the outcome of a run.
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, createServer as createSocketServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type RanWithSummary, Workshop } from '../../rig/assay.ts';
import { ServerProcess } from '../../rig/server.ts';
import { describeTree } from '../../rig/tree.ts';

let shop: Workshop;
const closers: (() => Promise<void> | void)[] = [];

beforeEach(() => {
  shop = new Workshop();
  shop.write('in.txt', 'input');
});

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
  shop.remove();
});

const COMMAND = 'mkdir -p out; cp in.txt out/a; head -c 200000 /dev/zero > out/large; echo said; exit 0';

function build(url: string, store = 'store'): Promise<RanWithSummary> {
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
  return shop.run([...flags, '--', 'sh', '-c', COMMAND]);
}

function listen(server: Server): Promise<string> {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => open.add(socket));
  closers.push(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () =>
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    );
  });
}

const http = (answer: RequestListener) => listen(createServer(answer));

/** A run that gets no processor waits longer for the remote, until an upload may take no longer. */
const GIVEN_UP = /the remote is not usable|the upload took longer than 10 s/;

function expectOrdinaryMiss(ran: RanWithSummary, words: string | RegExp = GIVEN_UP): void {
  expect(ran.code).toBe(0);
  expect(ran.stdout).toBe('said\n');
  expect(ran.summary).toMatchObject({ outcome: 'miss', exitCode: 0, published: true, shared: false });
  expect(ran.summary.warnings.join()).toMatch(words);
  expect(describeTree(`${shop.workspace}/out`).map((line) => line.split(' ')[0])).toEqual(['a', 'large']);
}

describe('a run treats as a miss a remote that', () => {
  const never: RequestListener = () => {};
  const trickle: RequestListener = (_request, response) => {
    response.writeHead(200, { 'content-length': 1_000_000 });
    const timer = setInterval(() => response.write('x'), 100);
    response.on('close', () => clearInterval(timer));
  };
  const stall: RequestListener = (_request, response) => {
    response.writeHead(200, { 'content-length': 1_000_000 });
    response.write(Buffer.alloc(500_000));
  };

  test.each<[string, RequestListener]>([
    ['never answers', never],
    ['sends a byte now and then', trickle],
    ['stops in the middle of a body', stall],
    ['breaks the connection', (request) => request.socket.destroy()],
    ['answers 500', (_request, response) => response.writeHead(500).end('boom')],
    ['answers 503 to everything', (_request, response) => response.writeHead(503).end()],
    ['answers 401', (_request, response) => response.writeHead(401).end()],
    ['sends an invalid result', (_request, response) => response.end('\xff\xff\xffnonsense')],
    ['sends an endless result', (_request, response) => endless(response)],
    [
      'never answers a write',
      (request, response) => (request.method === 'PUT' ? never : miss)(request, response),
    ],
    [
      'cuts a write off',
      (request, response) => (request.method === 'PUT' ? request.socket.destroy() : miss(request, response)),
    ],
  ])('%s', async (_name, answer) => {
    expectOrdinaryMiss(await build(await http(answer)));
  });

  test.each([
    ['is full', 507, 'its store or disk is full'],
    ['is read-only', 403, 'it is read-only, or ASSAY_TOKEN may not write'],
    ['requires a token', 401, 'it is read-only, or ASSAY_TOKEN may not write'],
  ])('%s for writes', async (_name, status, words) => {
    const ran = await build(await http(readOnly(status)));
    expectOrdinaryMiss(ran, 'the remote takes no results, they stay in the local store');
    expect(ran.summary.warnings.join()).toContain(words);
  });

  test('does not exist', async () => {
    expectOrdinaryMiss(await build('http://127.0.0.1:9'));
  });

  test('accepts connections and sends nothing', async () => {
    const server = createSocketServer(() => {});
    closers.push(() => void server.close());
    const port = await new Promise<number>((resolve) => {
      server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
    });
    expectOrdinaryMiss(await build(`http://127.0.0.1:${port}`));
  });

  test('does not speak HTTP', async () => {
    const server = createSocketServer((socket) => socket.end('220 mail ready\r\n'));
    closers.push(() => void server.close());
    const port = await new Promise<number>((resolve) => {
      server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
    });
    expectOrdinaryMiss(await build(`http://127.0.0.1:${port}`));
  });
});

function miss(request: IncomingMessage, response: ServerResponse): void {
  request.resume();
  response.writeHead(404).end();
}

function readOnly(status: number): RequestListener {
  return (request, response) => {
    request.resume();
    response.writeHead(request.method === 'PUT' ? status : 404).end();
  };
}

function endless(response: ServerResponse): void {
  const more = () => {
    while (!response.destroyed && response.write(Buffer.alloc(1 << 20)));
  };
  response.on('drain', more);
  more();
}

/** A proxy to a real server that corrupts its responses. */
async function proxyTo(
  url: string,
  spoil: (path: string, body: Buffer) => Buffer | undefined,
): Promise<string> {
  return http(async (request, response) => {
    const path = request.url ?? '';
    if (request.method !== 'GET') return miss(request, response);
    const answer = await fetch(url + path);
    const body = Buffer.from(await answer.arrayBuffer());
    const spoilt = answer.ok ? spoil(path, body) : body;
    if (spoilt === undefined) return void response.writeHead(404).end();
    response.writeHead(answer.status, { 'content-length': spoilt.length }).end(spoilt);
  });
}

describe('a run treats as a miss a remote that lies:', () => {
  let honest: ServerProcess;

  beforeEach(async () => {
    honest = await ServerProcess.start(`${shop.folder}/server`);
    closers.push(() => honest.stop());
    expect((await build(honest.url, 'first')).summary.shared).toBe(true);
  });

  const flip = (body: Buffer) =>
    Buffer.from(body.map((byte, at) => (at === body.length >> 1 ? byte ^ 1 : byte)));

  test.each<[string, (path: string, body: Buffer) => Buffer | undefined]>([
    ['sends a blob with one bit flipped', (path, body) => (path.startsWith('/cas') ? flip(body) : body)],
    [
      'sends half a blob with a matching length',
      (path, body) => (path.startsWith('/cas') ? body.subarray(0, body.length >> 1) : body),
    ],
    ['sends too much', (path, body) => (path.startsWith('/cas') ? Buffer.concat([body, body]) : body)],
    ['sends nothing', (path, body) => (path.startsWith('/cas') ? Buffer.alloc(0) : body)],
    ['references blobs that it does not have', (path, body) => (path.startsWith('/cas') ? undefined : body)],
  ])('%s', async (_name, spoil) => {
    expectOrdinaryMiss(await build(await proxyTo(honest.url, spoil)));
  });

  test('the same proxy without corruption gives a hit, which proves that these tests can fail', async () => {
    const ran = await build(await proxyTo(honest.url, (_path, body) => body));
    expect(ran.summary.outcome).toBe('hit-remote');
  });
});
