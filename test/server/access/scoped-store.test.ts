// The store as one identity sees it: where it writes, what it reads and in which order, and what it is denied.
import { expect, test } from 'vitest';
import type { Hash } from '../../../core/digest.ts';
import { digestOf } from '../../../core/digest.ts';
import { ancestorsOf, type Namespace, namespaceBelow, parseNamespace } from '../../../core/namespace.ts';
import type { Identity } from '../../../server/access/identity.ts';
import { ROOT_IDENTITY } from '../../../server/access/identity.ts';
import { narrowedBy, ScopedStore } from '../../../server/access/scoped-store.ts';
import { openMemoryStore } from '../../rig/stores/memory/store.ts';
import { contentOf, resultNaming, resultWith } from '../../store/content.ts';
import { identity, MAIN, OTHER, PULL, READER, SIBLING, WRITER } from './identities.ts';

const KEY: Hash = digestOf(Buffer.from('a key')).hash;
const ADDRESS = { namespace: parseNamespace(''), key: KEY };
const WEB = parseNamespace('web');

function views() {
  const whole = openMemoryStore();
  const writer = () => ({ name: 'test', from: '127.0.0.1', via: 'test', at: 0 });
  return {
    whole,
    as: (who: Identity, asked?: string) =>
      new ScopedStore(
        whole,
        who,
        writer,
        asked === undefined ? undefined : narrowedBy({ 'assay-namespace': asked }),
      ),
  };
}

function result(exitCode: number): Buffer {
  return resultWith({ exitCode });
}

test('a result is found in the own namespace, then in those that are read in their order, then above', async () => {
  const { as } = views();
  const build = identity('build', { namespace: 'acme/app/pr/7', reads: ['acme/app/next', 'acme/app/main'] });
  const above = identity('above', { namespace: 'acme/app' });
  const next = identity('next', { namespace: 'acme/app/next' });
  for (const [exitCode, who] of [above, MAIN, next, build].entries()) {
    await as(who).results.put(ADDRESS, result(exitCode));
    const store = as(build);
    expect((await store.results.get(ADDRESS))?.bytes).toEqual(result(exitCode));
    expect(store.namespace).toBe(who.namespace);
  }
});

test('a request can narrow what is read, and never widen it', async () => {
  const { as } = views();
  await as(MAIN).results.put(ADDRESS, result(1));
  await as(PULL).results.put(ADDRESS, result(2));
  await as(OTHER).results.put(ADDRESS, result(3));
  expect((await as(PULL, 'acme/app/main').results.get(ADDRESS))?.bytes).toEqual(result(1));
  expect((await as(PULL, 'acme/app/pr/1, acme/app/main').results.get(ADDRESS))?.bytes).toEqual(result(2));
  for (const foreign of ['rival/app/main', 'acme/app/pr/2', '', '*', '..'])
    expect(await as(PULL, foreign).results.get(ADDRESS)).toBeUndefined();
});

test('what a request names lies below the namespace of its identity', async () => {
  const { as } = views();
  const ofMain = parseNamespace('acme/app/main');
  await as(PULL).results.put({ namespace: ofMain, key: KEY }, result(1));
  expect(await as(MAIN).results.get(ADDRESS)).toBeUndefined();
  expect(await as(MAIN).results.get({ namespace: ofMain, key: KEY })).toBeUndefined();
  expect((await as(PULL).results.get({ namespace: ofMain, key: KEY }))?.bytes).toEqual(result(1));
});

test('no namespace that a request names makes an ancestor’s results those of a pull request', async () => {
  const { as } = views();
  await as(PULL).results.put({ namespace: WEB, key: KEY }, result(1));
  for (const asked of ['pr/1/web', 'app/pr/1/web', 'acme/app/pr/1/web', 'pr/1', 'web'])
    expect(await as(MAIN).results.get({ namespace: parseNamespace(asked), key: KEY })).toBeUndefined();
});

test.each([
  ['', 'web', 'web'],
  ['acme/app', '', 'acme/app'],
  ['acme/app', 'web/ui', 'acme/app/=/web/ui'],
  ['acme/app', '~turbo', '~turbo/acme/app'],
  ['acme/app', '~turbo/web', '~turbo/acme/app/=/web'],
])('below %j, %j is %j', (base, requested, expected) => {
  expect(namespaceBelow(base as Namespace, requested as Namespace)).toBe(expected);
});

test('the ancestors are the nearest first', () => {
  expect(ancestorsOf(parseNamespace('acme/app/pr/1'))).toEqual(['acme/app/pr', 'acme/app', 'acme']);
  expect(ancestorsOf(parseNamespace('acme'))).toEqual([]);
});

test('labels are searched namespace by namespace: all prefixes in the own one come first', async () => {
  const { as } = views();
  const label = (who: Identity, name: string) => as(who).labels.put({ namespace: WEB, label: name }, KEY);
  for (const who of [MAIN, PULL, SIBLING]) await as(who).results.put({ namespace: WEB, key: KEY }, result(0));
  await label(MAIN, 'node-linux-2');
  await label(SIBLING, 'node-linux-3');
  const find = async (prefixes: readonly string[], exact?: string) =>
    (await as(PULL).labels.newest(WEB, prefixes, exact))?.label;
  expect(await find(['node-linux-', 'node-'])).toBe('node-linux-2');
  await label(PULL, 'node-mac-1');
  expect(await find(['node-linux-', 'node-'], 'node-linux-2')).toBe('node-mac-1');
  expect(await find(['node-linux-'])).toBe('node-linux-2');
});

test('labels are listed once each: the own ones first, then those of main, and no others', async () => {
  const { as } = views();
  for (const [who, name] of [
    [MAIN, 'a-1'],
    [MAIN, 'a-2'],
    [SIBLING, 'a-3'],
    [PULL, 'a-1'],
  ] as const) {
    await as(who).results.put({ namespace: WEB, key: KEY }, result(0));
    await as(who).labels.put({ namespace: WEB, label: name }, KEY);
  }
  expect((await as(PULL).labels.all(WEB, 'a-')).map(({ label }) => label)).toEqual(['a-1', 'a-2']);
});

test('results are listed namespace by namespace', async () => {
  const { as } = views();
  await as(MAIN).results.put(ADDRESS, result(1));
  await as(PULL).results.put(ADDRESS, result(2));
  await as(SIBLING).results.put(ADDRESS, result(3));
  const listed: Buffer[] = [];
  for await (const { bytes } of as(PULL).results.everywhere(ADDRESS)) listed.push(bytes);
  expect(listed).toEqual([result(2), result(1)]);
});

test('a writer without the right to read finds what it wrote, and nothing else', async () => {
  const { as } = views();
  const blind = identity('blind', { namespace: 'acme/app/pr/1', reads: ['acme/app/main'], rights: 'write' });
  await as(MAIN).results.put(ADDRESS, result(1));
  expect(await as(blind).results.get(ADDRESS)).toBeUndefined();
  await as(blind).results.put(ADDRESS, result(2));
  expect((await as(blind).results.get(ADDRESS))?.bytes).toEqual(result(2));
});

test('without a right there is nothing of its kind', async () => {
  const { as } = views();
  const none = identity('none', { namespace: 'acme', rights: 'stats' });
  expect(() => as(none).blobs).toThrow(/blobs:read or blobs:write/);
  expect(() => as(none).results).toThrow(/ASSAY_FORBIDDEN/);
  expect(() => as(READER).uploads).toThrow(/blobs:write/);
  await expect(as(none).labels.all(WEB, '')).rejects.toThrow(/ASSAY_FORBIDDEN/);
  await expect(as(READER).labels.put({ namespace: WEB, label: 'a' }, KEY)).rejects.toThrow(/labels:write/);
});

test('blobs are walled by tenant, and shared within one', async () => {
  const { as } = views();
  const bytes = contentOf('a blob', 100);
  const digest = await as(PULL).blobs.put({}, bytes);
  expect(await as(MAIN).blobs.missing([digest])).toEqual([]);
  expect(await as(OTHER).blobs.missing([digest])).toEqual([digest]);
  expect(await as(OTHER).blobs.get(digest.hash)).toBeUndefined();
  await expect(as(OTHER).results.put(ADDRESS, resultNaming(digest))).rejects.toThrow(
    /ASSAY_RESULT_INCOMPLETE/,
  );
  await as(OTHER).blobs.put(digest, bytes);
  expect(await as(OTHER).blobs.missing([digest])).toEqual([]);
});

test('two identities with the same upload id have two uploads', async () => {
  const { as } = views();
  const content = contentOf('a part', 10);
  const part = { expected: {}, offset: 0, content, isLast: false };
  expect((await as(PULL).uploads.append('1', part)).committed).toBe(10);
  expect(await as(SIBLING).uploads.status('1')).toBeUndefined();
  expect(await as(MAIN).uploads.status('1')).toBeUndefined();
  expect((await as(PULL).uploads.status('1'))?.committed).toBe(10);
});

test('the server’s own token reads and writes every namespace, as it names them', async () => {
  const { as } = views();
  const store = as(ROOT_IDENTITY);
  await store.results.put({ namespace: parseNamespace('acme/app/main'), key: KEY }, result(1));
  expect((await as(MAIN).results.get(ADDRESS))?.bytes).toEqual(result(1));
  await as(WRITER).results.put(ADDRESS, result(1));
  expect(store.namespace).toBe('acme/app/main');
});
