// Forgetting results: which ones a selection means, what is counted, and what happens to writes meanwhile.
import { beforeEach, describe, expect, test } from 'vitest';
import { digestOf, type Hash } from '../../../core/digest.ts';
import { encodeReceipt } from '../../../core/metadata/receipt.ts';
import { namespaceBelow, parseNamespace, protocolNamespace } from '../../../core/namespace.ts';
import { listDivergences } from '../../../store/review/divergences.ts';
import { type ForgetOptions, forget } from '../../../store/review/forget.ts';
import { parseSelection, type SelectionTexts } from '../../../store/review/selection.ts';
import type { Review, Store, Writer } from '../../../store/store.ts';
import { openMemoryStore } from '../../rig/stores/memory/store.ts';
import { addressOf, contentOf, putOne, resultNaming, resultWith } from '../content.ts';

const NOW = Date.UTC(2026, 10, 17, 12);
const HOUR = 3_600_000;
const main = parseNamespace('acme/app/main');
const pull = parseNamespace('acme/app/pr/7');

let store: Store;
let review: Review;
beforeEach(() => {
  store = openMemoryStore();
  if (!store.review) throw new Error('no review');
  review = store.review;
});

const by = (name: string, hoursAgo = 1, via = 'ac'): Writer => ({
  name,
  from: '192.0.2.1',
  via,
  at: NOW - hoursAgo * HOUR,
});
const put = (key: string, namespace = main, writer: Writer | undefined = by('ci'), exitCode = 0) =>
  store.results.put(addressOf(key, namespace), resultWith({ exitCode }), { writer });
const forgetAll = (texts: SelectionTexts, more: Partial<ForgetOptions> = {}) =>
  forget(review, { selection: parseSelection(texts), remove: true, listed: 100, now: () => NOW, ...more });
const left = async () => {
  const seen = await Array.fromAsync(review.results());
  return seen
    .map(
      ({ address: { namespace, key }, isRival }) => `${namespace} ${nameOf(key)}${isRival ? ' rival' : ''}`,
    )
    .sort();
};
const NAMES = ['a', 'b', 'c', 'd'];
const nameOf = (key: Hash) => NAMES.find((name) => digestOf(Buffer.from(name)).hash === key) ?? key;

describe('a selection', () => {
  test('by key means that key in every namespace, and its rivals', async () => {
    await put('a');
    await put('a', pull);
    await put('a', main, by('other'), 1);
    await put('b');
    const { key } = addressOf('a');
    expect(await forgetAll({ keys: [key] })).toMatchObject({ matched: 3, removed: 3, rivals: 1, changed: 0 });
    expect(await left()).toEqual(['acme/app/main b']);
  });

  test('by the key of an action means the results that name it, their rivals, and its snapshots', async () => {
    const action = addressOf('action').key;
    const naming = (name: Hash, exitCode = 0) =>
      resultWith({ exitCode, executionMetadata: { worker: '', auxiliaryMetadata: [encodeReceipt(name)] } });
    for (const namespace of [main, pull]) {
      await store.results.put(addressOf('a', namespace), naming(action));
      await store.results.put(addressOf('a', namespace), naming(action, 1));
      await store.results.put(addressOf('b', namespace), naming(addressOf('c').key));
    }
    await put('c');
    await put('d');
    await store.labels.put({ namespace: main, label: `step/none/${action}` }, addressOf('c').key);
    await store.labels.put({ namespace: pull, label: `${action}/1` }, addressOf('d').key);
    await store.labels.put({ namespace: main, label: `x${action}` }, addressOf('d').key);
    await store.results.put(addressOf('a', protocolNamespace('turbo', main)), Buffer.from(resultWith({})));
    expect(await forgetAll({ keys: [action], namespace: main })).toMatchObject({ removed: 3, rivals: 1 });
    expect(await forgetAll({ keys: [action] })).toMatchObject({ removed: 2, rivals: 1 });
    expect(await left()).toEqual([
      'acme/app/main b',
      'acme/app/main d',
      'acme/app/pr/7 b',
      '~turbo/acme/app/main a',
    ]);
  });

  test('by namespace means it, all below it, and its protocols, but no sibling', async () => {
    const app = parseNamespace('acme/app');
    const requested = parseNamespace('web');
    const inside = [
      app,
      pull,
      namespaceBelow(app, requested),
      protocolNamespace('turbo', app),
      namespaceBelow(pull, protocolNamespace('turbo', requested)),
    ];
    const outside = ['', 'acme', 'acme/application', 'other/acme/app', 'app'].map((text) =>
      parseNamespace(text),
    );
    const others = [
      protocolNamespace('turbo', parseNamespace('')),
      protocolNamespace('acme', parseNamespace('app')),
    ];
    for (const namespace of [...inside, ...outside, ...others]) await put('a', namespace);
    expect(await forgetAll({ namespace: 'acme/app' })).toMatchObject({ removed: inside.length });
    expect(await left()).toEqual([...outside, ...others].map((namespace) => `${namespace} a`).sort());
  });

  test('by writer and by time means results that have them, and both must hold', async () => {
    await put('a', main, by('bad', 1));
    await put('b', main, by('bad', 5));
    await put('c', main, by('good', 1));
    await store.results.put(addressOf('d', main), resultWith({}));
    const since = new Date(NOW - 2 * HOUR).toISOString();
    expect(await forgetAll({ writer: 'bad', since }, { remove: false })).toMatchObject({
      matched: 1,
      removed: 0,
    });
    expect(await forgetAll({ writer: 'bad', since })).toMatchObject({ removed: 1 });
    expect(await left()).toEqual(['acme/app/main b', 'acme/app/main c', 'acme/app/main d']);
    expect(await forgetAll({ since })).toMatchObject({ removed: 1 });
    expect(await forgetAll({ writer: 'nobody' })).toMatchObject({ matched: 0, removed: 0 });
    expect(await left()).toEqual(['acme/app/main b', 'acme/app/main d']);
  });

  test.each([
    [{}, 'at least one'],
    [{ keys: [] }, 'at least one'],
    [{ keys: ['abc'] }, '64 lower-case hex digits'],
    [{ since: 'yesterday' }, 'since takes a time'],
    [{ since: '2026-11-17T09:30' }, 'since takes a time'],
    [{ since: '2026-13-45' }, 'since takes a time'],
  ])('%j is refused', (texts, why) => {
    expect(() => parseSelection(texts)).toThrow(why);
  });
});

test('a dry run counts by namespace, writer and protocol, and removes nothing', async () => {
  await put('a', main, by('bad', 1, 'turbo'));
  await put('b', pull, by('bad'));
  await put('c', pull, by('ci'));
  await store.results.put(addressOf('d', pull), resultWith({}));
  expect(await forgetAll({ namespace: 'acme' }, { remove: false, listed: 2 })).toEqual({
    dryRun: true,
    examined: 4,
    matched: 4,
    removed: 0,
    labels: 0,
    rivals: 0,
    changed: 0,
    namespaces: [
      { name: 'acme/app/pr/7', results: 3 },
      { name: 'acme/app/main', results: 1 },
    ],
    writers: [
      { name: 'bad', results: 2 },
      { name: '', results: 1 },
      { name: 'ci', results: 1 },
    ],
    protocols: [
      { name: 'ac', results: 2 },
      { name: '', results: 1 },
      { name: 'turbo', results: 1 },
    ],
    keys: [
      {
        namespace: main,
        key: addressOf('a').key,
        isRival: false,
        writer: 'bad',
        at: '2026-11-17T11:00:00.000Z',
      },
      {
        namespace: pull,
        key: addressOf('b').key,
        isRival: false,
        writer: 'bad',
        at: '2026-11-17T11:00:00.000Z',
      },
    ],
  });
  expect(await left()).toHaveLength(4);
});

test('only namespaces that are allowed are touched, whatever the selection says', async () => {
  await put('a');
  await put('a', pull);
  expect(
    await forgetAll({ keys: [addressOf('a').key] }, { isAllowed: (namespace) => namespace === pull }),
  ).toMatchObject({
    matched: 1,
    removed: 1,
  });
  expect(await left()).toEqual(['acme/app/main a']);
});

test('a result that was written after the work began stays; a time in the future is a wrong clock', async () => {
  let now = NOW;
  await put('a', main, by('ci', -1));
  const later: Review = {
    ...review,
    async *results() {
      now += 1000;
      await store.results.put(addressOf('b', main), resultWith({}), { writer: { ...by('ci'), at: now } });
      yield* review.results();
    },
  };
  expect(
    await forget(later, { selection: { namespace: main }, remove: true, listed: 0, now: () => now }),
  ).toMatchObject({
    examined: 2,
    removed: 1,
  });
  expect(await left()).toEqual(['acme/app/main b']);
});

test('a result that is replaced between being seen and being removed stays', async () => {
  await put('a', main, by('bad'));
  const racing: Review = {
    ...review,
    async remove(seen) {
      const how = { writer: { ...by('good'), at: NOW + 5 }, replace: true };
      await store.results.put(seen.address, resultWith({ exitCode: 3 }), how);
      return review.remove(seen);
    },
  };
  expect(
    await forget(racing, { selection: { writer: 'bad' }, remove: true, listed: 0, now: () => NOW }),
  ).toMatchObject({
    matched: 1,
    removed: 0,
    changed: 1,
  });
  expect((await store.results.get(addressOf('a', main)))?.writer?.name).toBe('good');
});

test('a label of a forgotten result is not found, and leads to the next result of its key', async () => {
  await put('a');
  await store.labels.put({ namespace: main, label: 'deps-1' }, addressOf('a').key);
  expect(await store.labels.newest(main, ['deps-'])).toBeDefined();
  await forgetAll({ writer: 'ci' });
  expect(await store.labels.newest(main, ['deps-'], 'deps-1')).toBeUndefined();
  await put('b', main, by('good'));
  expect(await store.labels.put({ namespace: main, label: 'deps-1' }, addressOf('b').key)).toBe('stored');
  expect(await store.labels.newest(main, ['deps-'])).toMatchObject({ key: addressOf('b').key });
});

test('leaves no label that points nowhere, and every label of others', async () => {
  const other = parseNamespace('rival');
  for (const namespace of [main, pull, other]) {
    await put('a', namespace);
    await put('b', namespace, by('good'));
    await store.labels.put({ namespace, label: 'deps-1' }, addressOf('a').key);
    await store.labels.put({ namespace, label: 'deps-2' }, addressOf('b').key);
  }
  await put('b', main, by('ci'), 1);
  const isAllowed = (namespace: string) => namespace.startsWith('acme/');
  const labels = async () =>
    (await Array.fromAsync(review.labels())).map(({ namespace, label }) => `${namespace} ${label}`).sort();
  await forgetAll({ writer: 'ci', namespace: 'acme' }, { isAllowed, remove: false });
  expect(await labels()).toHaveLength(6);
  expect(await forgetAll({ writer: 'ci', namespace: 'acme' }, { isAllowed })).toMatchObject({
    removed: 3,
    labels: 2,
  });
  expect(await labels()).toEqual([`${main} deps-2`, `${pull} deps-2`, 'rival deps-1', 'rival deps-2']);
});

test('the work can be stopped, and run again', async () => {
  for (let number = 0; number < 1000; number++) await put(`${number}`);
  const stop = new AbortController();
  const stopped = forgetAll(
    { namespace: main },
    { signal: stop.signal, onProgress: ({ removed }) => removed > 0 && stop.abort() },
  );
  await expect(stopped).rejects.toThrow();
  const rest = await left();
  expect(rest.length).toBeGreaterThan(0);
  expect(rest.length).toBeLessThan(1000);
  expect(await forgetAll({ namespace: main })).toMatchObject({ removed: rest.length });
  expect(await forgetAll({ namespace: main })).toMatchObject({ matched: 0 });
});

const HEX = /^[0-9a-f]{32}$/;

describe('divergences', () => {
  const list = () =>
    Array.fromAsync(listDivergences(review, store.blobs, { isShown: () => true, withAddresses: true }));
  const naming = async (text: string) => resultNaming(await putOne(store, contentOf(text, 100)));

  test('name both writers and the first difference', async () => {
    const [one, two] = [await naming('one'), await naming('two')];
    await store.results.put(addressOf('a', main), one, { writer: by('main', 2) });
    await store.results.put(addressOf('a', main), two, { writer: by('pull', 1, 'turbo') });
    expect(await list()).toEqual([
      {
        namespace: main,
        key: addressOf('a').key,
        first: { name: 'main', from: '192.0.2.1', protocol: 'ac', at: '2026-11-17T10:00:00.000Z' },
        second: { name: 'pull', from: '192.0.2.1', protocol: 'turbo', at: '2026-11-17T11:00:00.000Z' },
        difference: {
          output: {
            path: 'out/0',
            how: 'content',
            sizes: [100, 100],
            offset: expect.any(Number),
            bytes: [expect.stringMatching(HEX), expect.stringMatching(HEX)],
          },
        },
      },
    ]);
  });

  test('end when the first result is forgotten and made again like the second', async () => {
    const [bad, good] = [await naming('bad'), await naming('good')];
    await store.results.put(addressOf('a', main), bad, { writer: by('bad') });
    await store.results.put(addressOf('a', main), good, { writer: by('ci') });
    await forgetAll({ writer: 'bad' });
    expect(await list()).toEqual([]);
    expect(await store.results.put(addressOf('a', main), good, { writer: by('ci', 0) })).toBe('stored');
    expect(await list()).toEqual([]);
  });
});
