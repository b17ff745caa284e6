// Small blobs that the server appends to a result, for clients that ask for them.
import { expect, test } from 'vitest';
import { digestOf, toWire } from '../../../core/digest.ts';
import { INLINED_BLOBS_HEADER, splitBlobs } from '../../../core/inlined-blobs.ts';
import { parseRelPath } from '../../../core/path.ts';
import { ActionResult } from '../../../core/proto/generated/reapi.ts';
import { decodeResult, emptyResult } from '../../../core/result.ts';
import { encodeTree } from '../../../core/tree.ts';
import { SERVER } from '../../../server/limits.ts';
import type { Store } from '../../../store/store.ts';
import { addressOf, contentOf, putOne } from '../../store/content.ts';
import { ask, testServer } from '../rig.ts';

const { key } = addressOf('an action');
const asking = (bytes: string | number) => ({ headers: { [INLINED_BLOBS_HEADER]: String(bytes) } });

/** A folder with two files, a file beside it, and its log; one of the files is too large to inline. */
async function putResult(store: Store) {
  const small = contentOf('small', 1000);
  const large = contentOf('large', 500_000);
  const beside = contentOf('beside', 300);
  const log = contentOf('log', 200);
  for (const content of [small, large, beside, log]) await putOne(store, content);
  const file = (name: string, content: Buffer) => ({
    kind: 'file' as const,
    path: parseRelPath(name),
    digest: digestOf(content),
    executable: false,
  });
  const tree = Buffer.from(encodeTree([file('a', small), file('b', large), file('c', small)]));
  await putOne(store, tree);
  const result = Buffer.from(
    ActionResult.encode({
      ...emptyResult(0),
      outputFiles: [
        { path: 'beside', digest: toWire(digestOf(beside)), isExecutable: false, contents: Buffer.alloc(0) },
      ],
      outputDirectories: [{ path: 'out', treeDigest: toWire(digestOf(tree)), isTopologicallySorted: false }],
      stdoutDigest: toWire(digestOf(log)),
    }).finish(),
  );
  await store.results.put({ namespace: addressOf('an action').namespace, key }, result);
  return { result, small, beside, log, tree };
}

async function inlinedBlobsOf(url: string, bytes: string | number) {
  const { status, body } = await ask(`${url}/ac/${key}`, 'GET', asking(bytes));
  expect(status).toBe(200);
  const { result, blobs } = splitBlobs(body);
  return { body, result, blobs: blobs.map(({ bytes }) => bytes) };
}

test('every small blob is appended once, after the unchanged bytes of the result', async () => {
  const server = await testServer();
  const stored = await putResult(server.store);
  const { result, blobs, body } = await inlinedBlobsOf(server.url, 1_000_000);
  expect(result.equals(stored.result)).toBe(true);
  expect(blobs).toEqual([stored.tree, stored.small, stored.beside, stored.log]);
  for (const one of splitBlobs(body).blobs) expect(digestOf(one.bytes).hash).toBe(one.hash);
});

test('a client that does not know the header gets the same result', async () => {
  const server = await testServer();
  const stored = await putResult(server.store);
  const { body } = await inlinedBlobsOf(server.url, 1_000_000);
  expect(ActionResult.decode(body)).toMatchObject({ ...decodeResult(stored.result) });
  const plain = await ask(`${server.url}/ac/${key}`);
  expect(plain.body.equals(stored.result)).toBe(true);
});

test.each(['0', '-5', 'much', 'NaN', '', '1e400'])(
  'a client that asks for %j bytes gets no more than the server’s limit',
  async (bytes) => {
    const server = await testServer();
    const stored = await putResult(server.store);
    const { result, body } = await inlinedBlobsOf(server.url, bytes);
    expect(result.equals(stored.result)).toBe(true);
    expect(body.length - result.length).toBeLessThanOrEqual(SERVER.inlinedBlobsBytes);
  },
);

test.each([100, 400, 1_500, 3_000])(
  'a client that asks for %i bytes gets no more than that',
  async (bytes) => {
    const server = await testServer();
    await putResult(server.store);
    const { result, body } = await inlinedBlobsOf(server.url, bytes);
    expect(body.length - result.length).toBeLessThanOrEqual(bytes);
  },
);

test('the server applies its own limit, and appends nothing when it is crowded', async () => {
  const modest = await testServer({ limits: { inlinedBlobsBytes: 500 } });
  const stored = await putResult(modest.store);
  expect((await inlinedBlobsOf(modest.url, 1_000_000)).blobs).toEqual([stored.tree]);
  const crowded = await testServer({ limits: { crowdConnections: 1 } });
  await putResult(crowded.store);
  expect((await inlinedBlobsOf(crowded.url, 1_000_000)).blobs).toEqual([]);
});

test('HEAD, a limit below any blob and a large result get no blobs', async () => {
  const server = await testServer();
  const { result, small } = await putResult(server.store);
  const { headers } = await ask(`${server.url}/ac/${key}`, 'HEAD', asking(100_000));
  expect(headers['content-length']).toBe(String(result.length));
  expect((await inlinedBlobsOf(server.url, 40)).blobs).toEqual([]);
  const outputFiles = Array.from({ length: 3000 }, (_, at) => ({
    path: `out/${at}`.padEnd(50, 'x'),
    digest: toWire(digestOf(small)),
    isExecutable: false,
    contents: Buffer.alloc(0),
  }));
  const many = Buffer.from(ActionResult.encode({ ...emptyResult(0), outputFiles }).finish());
  expect(many.length).toBeGreaterThan(SERVER.inlinedBlobsBytes);
  const other = addressOf('a large one');
  await server.store.results.put(other, many);
  const { body } = await ask(`${server.url}/ac/${other.key}`, 'GET', asking(100_000));
  expect(body.equals(many)).toBe(true);
});
