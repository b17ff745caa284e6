// Many path sets of one action: an Assay server lists them, and a hit takes three round trips behind any
// number of them. Other servers have slots.
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { request } from 'undici';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { digestOf, parseHash } from '../../../core/digest.ts';
import { PATH_SETS } from '../../../core/limits.ts';
import {
  decodePathSet,
  encodePathSet,
  FIND_MARK,
  LIST_MARK,
  type PathSet,
  resultKey,
} from '../../../core/path-set.ts';
import {
  FindResultRequest,
  FindResultResponse,
  ListPathSetsResponse,
} from '../../../core/proto/generated/assay.ts';
import { ActionResult } from '../../../core/proto/generated/reapi.ts';
import { emptyResult } from '../../../core/result.ts';
import { Workshop } from '../../rig/assay.ts';
import { ReapiServer } from '../../rig/reapi-server.ts';
import { ServerProcess } from '../../rig/server.ts';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
});

afterEach(() => shop.remove());

/**
 * Reads the file that `pointer` names: each pointer gives another path set. The output is larger than inlined
 * blobs.
 */
const COMMAND = 'p=$(cat pointer); cat "$p" > out; head -c 300000 /dev/zero >> out';

function build(remote: string, store: string, pointer: string, cwd = shop.workspace) {
  shop.write('pointer', pointer, 0o644, cwd);
  const flags = [
    '--remote',
    remote,
    '--store',
    join(shop.folder, store),
    '--inputs=observed',
    '--no-report',
    '--output',
    'out',
  ];
  return shop.run([...flags, '--', 'sh', '-c', COMMAND], { cwd });
}

/** How often the server was asked, by route and method. */
async function counts(url: string): Promise<Record<string, number>> {
  const { body } = await request(`${url.replace(/^grpc/, 'http')}/metrics`);
  const found: Record<string, number> = {};
  for (const line of (await body.text()).split('\n')) {
    const http = /^assay_http_requests_total\{route="([\w-]+)",method="(\w+)".*\} (\d+)$/.exec(line);
    const grpc = /^assay_grpc_calls_total\{method="([\w.]+)".*\} (\d+)$/.exec(line);
    const [name, count] = http ? [`${http[2]} ${http[1]}`, http[3]] : [grpc?.[1], grpc?.[2]];
    if (name !== undefined && name !== 'GET metrics' && Number(count) > 0)
      found[name] = (found[name] ?? 0) + Number(count);
  }
  return found;
}

async function during(url: string, work: () => Promise<unknown>): Promise<Record<string, number>> {
  const before = await counts(url);
  await work();
  const after = await counts(url);
  const more = Object.entries(after).map(([name, count]) => [name, count - (before[name] ?? 0)] as const);
  return Object.fromEntries(more.filter(([, count]) => count > 0));
}

async function serve(): Promise<string> {
  const server = await ServerProcess.start(join(shop.folder, 'server'));
  onTestFinished(() => server.stop());
  return server.url;
}

/** Adds sets that do not hold here. */
async function addSets(url: string, key: string, count: number): Promise<void> {
  for (let at = 0; at < count; at++) {
    const set: PathSet = ['pointer', `other-${at}`].map((path) => {
      return {
        root: 'workspace',
        path,
        names: false,
        state: 'file 0',
        left: '',
        without: [],
        lens: '',
        shown: [],
        note: '',
      };
    });
    const bytes = Buffer.from(encodePathSet(set));
    const { hash } = digestOf(bytes);
    await request(`${url}/cas/${hash}`, { method: 'PUT', body: bytes });
    const { statusCode } = await request(`${url}/path-sets/v1/${key}?set=${hash}`, { method: 'PUT' });
    expect(statusCode).toBe(200);
  }
}

const THREE_OVER_HTTP = { 'GET path-sets': 2, 'GET cas': 1 };
/** The capabilities are asked for together with the list. */
const THREE_OVER_GRPC = {
  'PathSets.List': 1,
  'Capabilities.GetCapabilities': 1,
  'PathSets.Find': 1,
  'ContentAddressableStorage.BatchReadBlobs': 1,
};

describe.each([
  ['http', THREE_OVER_HTTP],
  ['grpc', THREE_OVER_GRPC],
])('over %s', (protocol, three) => {
  test.each([8, 40])(
    'a hit behind %d sets takes three round trips, and then its set comes first',
    async (behind) => {
      const url = await serve();
      const remote = url.replace(/^http/, protocol);
      shop.write('file', 'content');
      const { summary } = await build(remote, 'one', 'file');
      expect(summary).toMatchObject({ outcome: 'miss', shared: true });
      await addSets(url, summary.key, behind);
      const again = async (store: string) => {
        rmSync(join(shop.workspace, 'out'), { force: true });
        expect((await build(remote, store, 'file')).summary.outcome).toBe('hit-remote');
      };
      expect(await during(url, () => again('two'))).toEqual(three);
      const { body } = await request(`${url}/path-sets/v1/${summary.key}`);
      const [first] = ListPathSetsResponse.decode(Buffer.from(await body.arrayBuffer())).sets;
      expect(String(first)).toContain('file');
      expect(String(first)).not.toContain('other');
    },
  );

  test('a hit behind other sets and other states of the same paths takes three round trips', async () => {
    const url = await serve();
    const remote = url.replace(/^http/, protocol);
    for (const [pointer, text] of [
      ['file', 'a'],
      ['file', 'b'],
      ['other', 'c'],
    ] as const) {
      shop.write(pointer, text);
      expect((await build(remote, 'one', pointer)).summary).toMatchObject({ outcome: 'miss', shared: true });
    }
    shop.write('file', 'a');
    const asked = await during(url, async () => {
      expect((await build(remote, 'two', 'file')).summary.outcome).toBe('hit-remote');
    });
    expect(asked).toEqual(three);
  });
});

test('HTTP and gRPC clients of one server find each other’s results', async () => {
  const url = await serve();
  shop.write('file', 'a');
  expect((await build(url.replace(/^http/, 'grpc'), 'one', 'file')).summary).toMatchObject({ shared: true });
  expect((await build(url, 'two', 'file')).summary.outcome).toBe('hit-remote');
});

/** A cache that keeps files by their URL, as nginx does, and answers unknown ones with `status`. */
async function plainCache(
  status: number,
): Promise<{ url: string; asked: string[]; files: Map<string, Buffer> }> {
  const files = new Map<string, Buffer>();
  const asked: string[] = [];
  const server = createServer(async (incoming, answer) => {
    const { method = '', url = '' } = incoming;
    asked.push(`${method} ${url.split('/')[1]}`);
    if (method === 'PUT') {
      files.set(url, await bodyOf(incoming));
      answer.writeHead(201).end();
      return;
    }
    const file = files.get(url);
    answer
      .writeHead(file ? 200 : url.startsWith('/path-sets') ? status : 404)
      .end(method === 'GET' ? file : '');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, files };
}

async function bodyOf(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return Buffer.concat(chunks);
}

describe('a server without lists', () => {
  test.each([404, 403, 200, 500])(
    'that answers %d is asked once a run, and its slots are used',
    async (status) => {
      const cache = await plainCache(status);
      shop.write('file', 'a');
      expect((await build(cache.url, 'one', 'file')).summary).toMatchObject({
        outcome: 'miss',
        shared: true,
      });
      expect(cache.asked.filter((one) => one.endsWith('path-sets'))).toEqual(['GET path-sets']);
      expect([...cache.files.keys()].filter((url) => url.startsWith('/path-sets'))).toEqual([]);
      cache.asked.length = 0;
      expect((await build(cache.url, 'two', 'file')).summary.outcome).toBe('hit-remote');
      expect(cache.asked.filter((one) => one.endsWith('path-sets'))).toEqual(['GET path-sets']);
    },
  );

  test('over gRPC says that it does not know the method, and its slots are used', async () => {
    const server = await ReapiServer.start(shop.folder);
    onTestFinished(() => server.stop());
    shop.write('file', 'a');
    expect((await build(server.url, 'one', 'file')).summary).toMatchObject({ outcome: 'miss', shared: true });
    expect((await build(server.url, 'two', 'file')).summary.outcome).toBe('hit-remote');
  });
});

interface Prediction {
  readonly predicted: string;
  readonly answer: Buffer;
}

/** A server whose list is a lie; everything else is a miss. `found`: how many candidates it was asked for. */
async function liar(
  sets: readonly Uint8Array[],
  prediction: Prediction = { predicted: '', answer: Buffer.alloc(0) },
): Promise<{ url: string; found: number[] }> {
  const found: number[] = [];
  const list = {
    mark: LIST_MARK,
    sets: sets.map((set) => Buffer.from(set)),
    takesPublications: false,
    isMiss: false,
    earlier: Buffer.alloc(0),
    ...prediction,
  };
  const answer = Buffer.from(ListPathSetsResponse.encode(list).finish());
  const miss = { mark: FIND_MARK, result: '', answer: Buffer.alloc(0), earlier: Buffer.alloc(0) };
  const server = createServer(async (incoming, response) => {
    const { method = '', url = '' } = incoming;
    await bodyOf(incoming);
    const find = new URL(url, 'http://server').searchParams.get('find');
    if (find !== null) {
      found.push(FindResultRequest.decode(Buffer.from(find, 'base64url')).candidates.length);
      response.writeHead(200).end(FindResultResponse.encode(miss).finish());
    } else if (url.startsWith('/path-sets') && method === 'GET') response.writeHead(200).end(answer);
    else response.writeHead(method === 'GET' ? 404 : 200).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, found };
}

function lie(path: string, root = 'workspace', state = 'file 0'): Uint8Array {
  return encodePathSet([
    { root, path, names: false, state, left: '', without: [], lens: '', shown: [], note: '' },
  ]);
}

describe('a server that lies', () => {
  async function missFrom(sets: readonly Uint8Array[], prediction?: Prediction) {
    const server = await liar(sets, prediction);
    shop.write('file', 'a');
    const ran = await build(server.url, 'one', 'file');
    expect(ran, ran.stderr).toMatchObject({ code: 0, summary: { outcome: 'miss', published: true } });
    return { ...server, ...ran };
  }

  test('with 10,000 sets is asked for no more than a list may have', async () => {
    const sets = Array.from({ length: 10_000 }, (_, at) => lie(`file-${at}`));
    const { found } = await missFrom(sets);
    expect(found[0]).toBe(PATH_SETS.maxListed);
  });

  test('with a set of 100 MB counts as one without lists', async () => {
    const { found, summary } = await missFrom([Buffer.alloc(100_000_000, 1)]);
    expect({ found, warnings: summary.warnings }).toEqual({ found: [], warnings: [] });
  });

  test('with a set that is no set, and one with too many paths, is asked for the others', async () => {
    const many = Array.from({ length: 20_001 }, (_, at) => {
      return {
        root: 'workspace',
        path: `f${at}`,
        names: false,
        state: '',
        left: '',
        without: [],
        lens: '',
        shown: [],
        note: '',
      };
    });
    const { found } = await missFrom([Buffer.from('nonsense'), encodePathSet(many), lie('file')]);
    expect(found[0]).toBe(1);
  });

  test.each([
    ['another result', digestOf(Buffer.from('another')).hash],
    ['no result', 'no key'],
  ])('about a prediction, with %s, is asked for the right result', async (_what, predicted) => {
    const answer = Buffer.from(ActionResult.encode(emptyResult(0)).finish());
    expect((await missFrom([lie('file')], { predicted, answer })).found[0]).toBe(1);
  });

  test('about the content of a right prediction is given up', async () => {
    shop.write('file', 'a');
    const { summary } = await build('http://127.0.0.1:1', 'none', 'file');
    const set = lie('file', 'workspace', `file ${digestOf(Buffer.from('a')).hash}`);
    const { hash } = resultKey(parseHash(summary.key), decodePathSet(set), ({ state }) => state);
    const given = await missFrom([set], { predicted: hash, answer: Buffer.from('nonsense') });
    expect(given.found).toEqual([]);
    expect(given.summary.warnings.length).toBeGreaterThan(0);
  });

  test.each([
    ['/home', lie('home/somebody/.ssh/id_rsa', '')],
    ['/proc', lie('proc/self/environ', '')],
    ['a pattern elsewhere', lie('home/somebody/.ssh/id_*', 'like:')],
    ['a way out', lie('a/../../b')],
    ['a pattern that is no path', lie('../..', 'like:workspace')],
  ])('with a set about %s learns nothing', async (_what, set) => {
    const { found, summary } = await missFrom([set]);
    expect(found).toEqual([]);
    expect(summary.warnings.length).toBeGreaterThan(0);
  });
});
