// The protocol as the document of Vite+ defines it, and what a hostile or unlucky client meets.
import { encode } from 'cborg';
import { describe, expect, test } from 'vitest';
import { type Namespace, parseNamespace } from '../../../core/namespace.ts';
import type { Identity } from '../../../server/access/identity.ts';
import { parseRights } from '../../../server/access/rights.ts';
import { openMemoryStore } from '../../../test/rig/stores/memory/store.ts';
import { type Answer, ask, type TestServerOptions, testServer } from '../../../test/server/rig.ts';
import { VITE_PLUS } from '../limits.ts';
import { vitePlusRoutes } from '../routes.ts';
import { entryForm, FORM, form, metadata, question, type SentEntry, told } from './rig.ts';

const MAIN = parseNamespace('acme/app/main');
const PULL = parseNamespace('acme/app/pr/1');
const OTHER = parseNamespace('other');

function identity(
  name: string,
  namespace: Namespace,
  rights: string,
  reads: readonly Namespace[] = [],
): Identity {
  return { name, namespace, rights: parseRights(rights) ?? new Set(), reads };
}

const IDENTITIES = [
  identity('main', MAIN, 'read-write'),
  identity('pull', PULL, 'read-write', [MAIN]),
  identity('reader', MAIN, 'read'),
  identity('other', OTHER, 'read-write'),
];
const identities = { identify: (token: string) => IDENTITIES.find(({ name }) => name === token) };

class Client {
  readonly #url: string;
  readonly #token: string;

  constructor(url: string, token = '', namespace = 'team') {
    this.#url = `${url}/vite-plus/${namespace}`;
    this.#token = token;
  }

  post(path: string, body: Buffer, headers: Record<string, string>): Promise<Answer> {
    return ask(`${this.#url}/${path}`, 'POST', { headers: { ...this.#credential, ...headers }, body });
  }

  fetch(key: string, task?: string): Promise<Answer> {
    return this.post('fetch', question(key, task), { 'content-type': 'application/cbor' });
  }

  store(entry: SentEntry): Promise<Answer> {
    return this.post('store', entryForm(entry), FORM);
  }

  blob(id: string | null): Promise<Answer> {
    return ask(`${this.#url}/blob/${id}`, 'GET', { headers: this.#credential });
  }

  /** As `vp` does: HTTP's own form of a login in the URL. */
  get #credential(): Record<string, string> {
    if (this.#token === '') return {};
    return { authorization: `Basic ${Buffer.from(`token:${this.#token}`).toString('base64')}` };
  }
}

async function client(options: TestServerOptions = {}): Promise<Client> {
  return new Client((await server(options)).url);
}

/** The protocol wants errors as plain text. */
function codeIn({ headers, body }: Answer): string | undefined {
  expect(headers['content-type']).toBe('text/plain; charset=utf-8');
  return /^ASSAY_\w+(?=: )/.exec(body.toString())?.[0];
}

/** With the value as text. */
function read(body: Buffer) {
  const { value, ...rest } = told(body);
  return { ...rest, value: value.toString() };
}

const server = (options: TestServerOptions = {}) =>
  testServer({ wings: [{ routes: vitePlusRoutes }], ...options });

test('an entry is found by its key, with its blob', async () => {
  const vp = await client();
  expect((await vp.fetch('A')).status).toBe(404);
  const stored = await vp.store({ key: 'A', value: 'inputs', blob: 'archive' });
  expect([stored.status, stored.headers['content-type']]).toEqual([200, 'application/cbor']);
  const found = read((await vp.fetch('A')).body);
  expect(found).toMatchObject({ kind: 'exact', value: 'inputs' });
  expect((await vp.blob(found.blobId)).body.toString()).toBe('archive');
});

test('an entry may have no blob, which is not an empty one', async () => {
  const vp = await client();
  await vp.store({ key: 'A', value: '' });
  await vp.store({ key: 'B', value: 'b', blob: '' });
  expect(read((await vp.fetch('A')).body)).toEqual({ kind: 'exact', value: '', blobId: null });
  const empty = await vp.blob(read((await vp.fetch('B')).body).blobId);
  expect([empty.status, empty.body.length]).toEqual([200, 0]);
});

test('the blob may come before the metadata', async () => {
  const vp = await client();
  const body = form([
    ['blob', Buffer.from('archive')],
    ['metadata', metadata({ key: 'A', value: 'inputs' })],
  ]);
  expect((await vp.post('store', body, FORM)).status).toBe(200);
  expect(read((await vp.fetch('A')).body).blobId).not.toBeNull();
});

test('a new entry replaces that of its key, and both its keys lead to it', async () => {
  const vp = await client();
  await vp.store({ key: 'A', value: 'old', blob: 'old archive' });
  await vp.store({ key: 'A', value: 'new', blob: 'new archive' });
  const found = read((await vp.fetch('A')).body);
  expect(found.value).toBe('new');
  expect((await vp.blob(found.blobId)).body.toString()).toBe('new archive');
});

test('without an entry of the key, the newest of the task is told with its key', async () => {
  const vp = await client();
  await vp.store({ key: 'A', value: 'of A' });
  expect(read((await vp.fetch('C')).body)).toMatchObject({ kind: 'fallback', key: 'A', value: 'of A' });
  await vp.store({ key: 'B', value: 'of B' });
  expect(read((await vp.fetch('C')).body)).toMatchObject({ kind: 'fallback', key: 'B', value: 'of B' });
  expect(read((await vp.fetch('A')).body)).toMatchObject({ kind: 'exact', value: 'of A' });
  expect((await vp.fetch('C', 'another task')).status).toBe(404);
});

test('an entry whose blob is gone is told by nobody', async () => {
  const store = openMemoryStore();
  let isLost = false;
  const blobs = {
    ...store.blobs,
    get: (hash: Parameters<typeof store.blobs.get>[0]) =>
      isLost ? Promise.resolve(undefined) : store.blobs.get(hash),
  };
  const vp = await client({ store: { ...store, blobs } });
  await vp.store({ key: 'A', value: 'inputs', blob: 'archive' });
  isLost = true;
  expect((await vp.fetch('A')).status).toBe(404);
});

describe('a body that is refused', () => {
  const good = entryForm({ key: 'A', value: 'inputs', blob: 'x'.repeat(1000) });
  const cbor = (value: unknown) => Buffer.from(encode(value));
  const key = Buffer.from('A');

  test.each<[string, Buffer]>([
    ['nothing', Buffer.alloc(0)],
    ['no CBOR', Buffer.from([0xff])],
    ['a list', cbor([key])],
    ['a key that is a text', cbor({ key: 'A', secondary_key: key })],
    ['no secondary key', cbor({ key })],
    ['a field more', cbor({ key, secondary_key: key, more: key })],
    [
      'a key twice',
      Buffer.concat([Buffer.from([0xa2]), ...[1, 2].map(() => Buffer.from('ckeyA1').fill(0x41, 4, 5))]),
    ],
    ['two messages', Buffer.concat([question('A'), question('A')])],
    [
      'a length that lies',
      Buffer.from([0xa2, 0x63, 0x6b, 0x65, 0x79, 0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
    ],
    ['deep nesting', Buffer.alloc(500_000, 0x81)],
  ])('a question with %s', async (_name, body) => {
    const vp = await client();
    const answer = await vp.post('fetch', body, {});
    expect([answer.status, codeIn(answer)]).toEqual([400, 'ASSAY_BAD_MESSAGE']);
  });

  test.each<[string, Buffer, Record<string, string>]>([
    ['no form', metadata({ key: 'A', value: '' }), { 'content-type': 'application/cbor' }],
    ['no boundary', good, { 'content-type': 'multipart/form-data' }],
    ['no content type', good, {}],
    ['nothing', Buffer.alloc(0), FORM],
    ['a cut end', good.subarray(0, -40), FORM],
    ['a cut blob', good.subarray(0, -200), FORM],
    ['no metadata', form([['blob', Buffer.from('x')]]), FORM],
    [
      'metadata twice',
      form([
        ['metadata', metadata({ key: 'A', value: '' })],
        ['metadata', metadata({ key: 'A', value: '' })],
      ]),
      FORM,
    ],
    [
      'another part',
      form([
        ['metadata', metadata({ key: 'A', value: '' })],
        ['other', key],
      ]),
      FORM,
    ],
    [
      'a third part',
      form([
        ['metadata', metadata({ key: 'A', value: '' })],
        ['blob', key],
        ['blob', key],
      ]),
      FORM,
    ],
    ['metadata that is a question', form([['metadata', question('A')]]), FORM],
  ])('an entry with %s', async (_name, body, headers) => {
    const vp = await client();
    const answer = await vp.post('store', body, headers);
    expect([answer.status, codeIn(answer)]).toEqual([400, 'ASSAY_BAD_MESSAGE']);
    expect((await vp.fetch('A')).status).toBe(404);
  });

  test('one that is too large', async () => {
    const small = await client({ limits: { maxBlobBytes: 1000 } });
    const answers = [
      await small.store({ key: 'A', value: 'v', blob: 'x'.repeat(1001) }),
      await small.store({ key: 'A', value: 'x'.repeat(VITE_PLUS.maxMetadataBytes) }),
      await small.post('fetch', Buffer.alloc(VITE_PLUS.maxQuestionBytes + 1), {}),
    ];
    for (const answer of answers) expect([answer.status, codeIn(answer)]).toEqual([413, 'ASSAY_TOO_LARGE']);
    expect((await small.fetch('A')).status).toBe(404);
    expect((await small.store({ key: 'A', value: 'v', blob: 'x'.repeat(1000) })).status).toBe(200);
  });

  test('an address that is none has no status of a miss', async () => {
    const vp = await client();
    for (const path of ['other', 'a/b', 'blob/x', '~x/fetch', 'blob'])
      expect((await vp.post(path, question('A'), {})).status, path).toBe(400);
    for (const id of ['x', 'F'.repeat(64), '..']) expect((await vp.blob(id)).status, id).toBe(400);
  });

  test('a fault of the store is not taken for a miss', async () => {
    const store = openMemoryStore();
    const results = { ...store.results, get: () => Promise.reject(new Error('the disk is gone')) };
    expect((await (await client({ store: { ...store, results } })).fetch('A')).status).toBe(500);
  });
});

describe('tokens', () => {
  test('a pull request reads what main wrote, and main never reads what it wrote', async () => {
    const { url } = await server({ identities });
    const [main, pull] = [new Client(url, 'main'), new Client(url, 'pull')];
    await main.store({ key: 'A', value: 'of main', blob: 'archive of main' });
    const found = read((await pull.fetch('A')).body);
    expect(found.value).toBe('of main');
    expect((await pull.blob(found.blobId)).body.toString()).toBe('archive of main');
    await pull.store({ key: 'A', value: 'of the pull request', task: 'other' });
    await pull.store({ key: 'B', value: 'of the pull request' });
    expect(read((await pull.fetch('A')).body).value).toBe('of the pull request');
    expect(read((await main.fetch('A')).body).value).toBe('of main');
    expect(read((await main.fetch('B')).body)).toMatchObject({
      kind: 'fallback',
      key: 'A',
      value: 'of main',
    });
    expect((await main.fetch('C', 'other')).status).toBe(404);
  });

  test('another tenant and another namespace see nothing', async () => {
    const { url } = await server({ identities });
    const main = new Client(url, 'main');
    await main.store({ key: 'A', value: 'of main', blob: 'archive' });
    const { blobId } = read((await main.fetch('A')).body);
    expect((await new Client(url, 'other').fetch('A')).status).toBe(404);
    expect((await new Client(url, 'other').blob(blobId)).status).toBe(404);
    expect((await new Client(url, 'main', 'elsewhere').fetch('A')).status).toBe(404);
  });

  test('a reader is denied a write, and nobody gets in without a token', async () => {
    const { url } = await server({ identities });
    expect((await new Client(url, 'reader').store({ key: 'A', value: '' })).status).toBe(403);
    expect((await new Client(url, 'nobody').fetch('A')).status).toBe(401);
    expect((await new Client(url).store({ key: 'A', value: '' })).status).toBe(401);
  });
});
