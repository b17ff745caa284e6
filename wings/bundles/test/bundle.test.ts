// A bundle from one store to another: what it carries, and what happens if a part of it is not what was written.
import { generateKeyPairSync } from 'node:crypto';
import { zstdDecompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { addPathSet, setsIn } from '../../../client/path-sets/path-sets.ts';
import { localPathSets } from '../../../client/path-sets/storage.ts';
import { type Digest, digestOf } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { bundleIn } from '../../../core/metadata/bundle.ts';
import { encodeReceipt } from '../../../core/metadata/receipt.ts';
import { parseNamespace } from '../../../core/namespace.ts';
import {
  encodePathSet,
  type ObservedPath,
  type PathSet,
  recordedState,
  resultKey,
} from '../../../core/path-set.ts';
import { forget } from '../../../store/review/forget.ts';
import type { Store } from '../../../store/store.ts';
import { Random } from '../../../test/rig/random.ts';
import { soak } from '../../../test/rig/soak.ts';
import { openMemoryStore } from '../../../test/rig/stores/memory/store.ts';
import {
  addressOf,
  contentOf,
  outputFile,
  putOne,
  readFrom,
  resultNaming,
  resultWith,
  treeOf,
} from '../../../test/store/content.ts';
import { exported, filesIn, imported, visibleIn } from './rig/bundles.ts';

const SEED = Number(process.env.ASSAY_TEST_SEED ?? 20_261_119);
const SAVED = parseNamespace(`saved/${'0'.repeat(32)}`);
const CHECKPOINT = parseNamespace('checkpoint');

const fact: ObservedPath = {
  ...{ root: 'workspace', path: 'read.txt', names: false, state: `file ${digestOf(Buffer.from('x')).hash}` },
  ...{ left: '', without: [], lens: '', shown: [], note: '' },
};

interface Filled {
  readonly store: Store;
  readonly digests: readonly Digest[];
  readonly set: PathSet;
}

/** Results of every kind: small, large and empty blobs, a Tree, a log, behind a path set, saved under labels. */
async function filled(): Promise<Filled> {
  const store = openMemoryStore();
  const empty = digestOf(Buffer.alloc(0));
  const small = await putOne(store, contentOf('small', 100));
  const large = await putOne(store, contentOf('large', 3_000_000));
  const leaf = await putOne(store, contentOf('leaf', 70_000));
  const tree = await putOne(store, treeOf(leaf));
  const log = await putOne(store, contentOf('log', 5000));
  await store.results.put(addressOf('files'), resultNaming(small, large, empty));
  await store.results.put(
    addressOf('folder'),
    resultWith({
      outputDirectories: [
        { path: 'out', treeDigest: { hash: tree.hash, sizeBytes: tree.size }, isTopologicallySorted: false },
      ],
      stdoutDigest: { hash: log.hash, sizeBytes: log.size },
      outputSymlinks: [{ path: 'link', target: 'out/folder' }],
    }),
  );
  const set = [fact];
  const action = addressOf('observed').key;
  await addPathSet(action, set, localPathSets(store), recordedState);
  await store.results.put(
    { ...addressOf(''), key: resultKey(action, set, recordedState).hash },
    resultWith({
      outputFiles: [outputFile('out', small)],
      executionMetadata: { worker: '', auxiliaryMetadata: [encodeReceipt(action)] },
    }),
  );
  for (const [namespace, name] of [
    [SAVED, 'deps-1'],
    [SAVED, 'deps-2'],
    [CHECKPOINT, `${action}/1`],
  ] as const) {
    await store.results.put(addressOf(name, namespace), resultNaming(leaf));
    await store.labels.put({ namespace, label: name }, addressOf(name, namespace).key);
  }
  return { store, digests: [small, large, leaf, tree, log], set };
}

async function codeOf(failing: Promise<unknown>): Promise<string> {
  try {
    await failing;
  } catch (error) {
    return error instanceof AssayError ? error.code : String(error);
  }
  return 'nothing failed';
}

test('results of every kind, path sets and labels go from one store to another', async () => {
  const { store, digests, set } = await filled();
  const other = openMemoryStore();
  const { stored, labels, refused } = await imported(other, await exported(store));
  expect({ stored, labels, refused }).toEqual({ stored: 6, labels: 3, refused: 0 });
  for (const name of ['files', 'folder']) {
    const [before, after] = [
      await store.results.get(addressOf(name)),
      await other.results.get(addressOf(name)),
    ];
    expect(after?.bytes).toEqual(before?.bytes);
  }
  for (const digest of digests) expect(await readFrom(other, digest)).toEqual(await readFrom(store, digest));
  const action = addressOf('observed').key;
  expect(await setsIn(action, localPathSets(other), recordedState)).toMatchObject([set]);
  expect((await other.labels.newest(SAVED, ['deps-']))?.label).toBe('deps-2');
  expect((await other.labels.newest(CHECKPOINT, [`${action}/`]))?.label).toBe(`${action}/1`);
});

test('a bundle that went through a store has the same records', async () => {
  const { store } = await filled();
  const first = await exported(store);
  const other = openMemoryStore();
  await imported(other, first);
  /* A store in memory lists its results in the order in which they came. */
  expect(manifestOf(await exported(other)).toSorted()).toEqual(manifestOf(first).toSorted());
});

function manifestOf(bundle: Buffer): string[] {
  const slices = filesIn(bundle).filter(({ name }) => name.startsWith('manifest/'));
  const bytes = slices.map(({ at, size }) => zstdDecompressSync(bundle.subarray(at, at + size)));
  return Buffer.concat(bytes).toString().split('\n');
}

test('an import is repeated without harm, and a result that the store has stays', async () => {
  const { store } = await filled();
  const bundle = await exported(store);
  const other = openMemoryStore();
  const own = await putOne(other, contentOf('own', 10));
  await other.results.put(addressOf('files'), resultNaming(own));
  await putOne(other, contentOf('leaf', 70_000));
  await other.results.put(addressOf('deps-1', SAVED), resultNaming(digestOf(contentOf('leaf', 70_000))));
  const first = await imported(other, bundle);
  expect([first.stored, first.unchanged, first.refused]).toEqual([4, 1, 1]);
  expect(first.refusals[0]).toContain(addressOf('files').key);
  const kept = await other.results.get(addressOf('files'));
  expect(kept?.references.map(({ hash }) => hash)).toEqual([own.hash]);
  const again = await imported(other, bundle);
  expect([again.stored, again.unchanged, again.refused, again.lacked.blobs]).toEqual([0, 5, 1, 0]);
});

test('forget by the digest of a bundle takes back what came with it, and nothing else', async () => {
  const { store } = await filled();
  const other = openMemoryStore();
  await putOne(other, contentOf('leaf', 70_000));
  await other.results.put(addressOf('deps-1', SAVED), resultNaming(digestOf(contentOf('leaf', 70_000))));
  const { manifest } = await imported(other, await exported(store));
  const review = other.review;
  if (!review) throw new Error('no review');
  const selection = { bundle: manifest.bundle };
  const elsewhere = { bundle: digestOf(Buffer.from('another')).hash };
  expect((await forget(review, { selection: elsewhere, remove: true, listed: 0 })).removed).toBe(0);
  expect((await forget(review, { selection, remove: true, listed: 0 })).removed).toBe(6);
  const left = await visibleIn(other);
  expect(left.map(({ address }) => address)).toEqual([addressOf('deps-1', SAVED)]);
  expect(left.filter(({ result }) => bundleIn(result.writer?.via) !== undefined)).toEqual([]);
});

test('a part of a store is exported by key, by label and by time', async () => {
  const { store } = await filled();
  const action = addressOf('observed').key;
  const countsOf = async (wanted: Parameters<typeof exported>[1]) =>
    (await imported(openMemoryStore(), await exported(store, wanted))).manifest.counts;
  expect(await countsOf({ wanted: { keys: [action] } })).toMatchObject({ results: 2, sets: 1, labels: 1 });
  expect(await countsOf({ wanted: { labels: ['deps-'] } })).toMatchObject({ results: 2, sets: 0, labels: 2 });
  expect(await countsOf({ wanted: { since: 1 } })).toMatchObject({ results: 0, sets: 0, labels: 0 });
});

test('a signature is by the key that made it, for this bundle alone', async () => {
  const { store } = await filled();
  const [maker, stranger] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed25519')];
  const signed = await exported(store, { key: maker.privateKey });
  const other = openMemoryStore();
  const trusting = (...keys: (typeof maker)[]) => ({ trusted: keys.map(({ publicKey }) => publicKey) });
  expect(await codeOf(imported(other, signed, trusting(stranger)))).toBe('ASSAY_BUNDLE_UNTRUSTED');
  expect(await codeOf(imported(other, await exported(store), trusting(maker)))).toBe(
    'ASSAY_BUNDLE_UNTRUSTED',
  );
  /* The signature of one bundle in the head of another. */
  const part = await exported(store, { wanted: { labels: ['deps-'] }, key: maker.privateKey });
  const [head, theirs] = [filesIn(signed)[0], filesIn(part)[0]];
  if (!head || !theirs) throw new Error('a bundle has a head');
  const stolen = JSON.parse(part.toString('utf8', theirs.at, theirs.at + theirs.size)).signature;
  const own = JSON.parse(signed.toString('utf8', head.at, head.at + head.size)).signature;
  const moved = Buffer.from(signed);
  moved.write(moved.toString('utf8', head.at, head.at + head.size).replace(own, stolen), head.at);
  expect(await codeOf(imported(other, moved, trusting(maker)))).toBe('ASSAY_BUNDLE_UNTRUSTED');
  expect(await visibleIn(other)).toEqual([]);
  expect((await imported(other, signed, trusting(stranger, maker))).isSigned).toBe(true);
});

test('a bundle that the store could not hold is refused by what it announces', async () => {
  const { store } = await filled();
  const other = openMemoryStore();
  const bundle = await exported(store);
  const head = filesIn(bundle)[0];
  async function* onlyTheHead() {
    yield bundle.subarray(0, (head?.at ?? 0) + 512);
    throw new Error('more was read');
  }
  expect(await codeOf(imported(other, onlyTheHead(), { maxBytes: 1_000_000 }))).toBe(
    'ASSAY_BUNDLE_TOO_LARGE',
  );
});

test('wherever a byte is flipped, an import takes all or nothing', async () => {
  const { store, digests } = await filled();
  const bundle = await exported(store);
  const random = new Random(SEED);
  const regions = filesIn(bundle).flatMap(({ at, size }) => [
    { at: at - 512, size: 512 },
    { at, size },
    { at: at + size, size: Math.ceil(size / 512) * 512 - size },
  ]);
  const flips = [...regions, { at: bundle.length - 1024, size: 1024 }]
    .filter(({ size }) => size > 0)
    .flatMap(({ at, size }) => Array.from({ length: soak(40, 3) }, () => at + random.below(size)));
  let refused = 0;
  for (const at of flips) {
    const flipped = Buffer.from(bundle);
    flipped[at] = (flipped[at] ?? 0) ^ (1 << random.below(8));
    const other = openMemoryStore();
    const code = await codeOf(imported(other, flipped));
    if (code === 'nothing failed') {
      expect((await visibleIn(other)).length, `byte ${at}`).toBe(7);
      for (const digest of digests)
        expect(await readFrom(other, digest)).toEqual(await readFrom(store, digest));
      continue;
    }
    expect(code, `byte ${at}`).toMatch(/^ASSAY_BUNDLE_/);
    expect(await visibleIn(other), `byte ${at}`).toEqual([]);
    refused++;
  }
  expect(refused).toBeGreaterThan(flips.length * 0.9);
});

test('wherever a bundle is cut, nothing of it is visible, and the whole one goes on from there', async () => {
  const { store } = await filled();
  const bundle = await exported(store);
  const random = new Random(SEED);
  const cuts = Array.from({ length: soak(100, 12) }, () => random.below(bundle.length));
  const other = openMemoryStore();
  for (const cut of [...filesIn(bundle).map(({ at }) => at), ...cuts, bundle.length - 1].sort(
    (a, b) => a - b,
  )) {
    expect(await codeOf(imported(other, bundle.subarray(0, cut))), `cut at ${cut}`).toBe(
      'ASSAY_BUNDLE_DAMAGED',
    );
    expect(await visibleIn(other)).toEqual([]);
  }
  const { lacked, stored } = await imported(other, bundle);
  expect([lacked.blobs, stored]).toEqual([0, 6]);
});

test('what follows a bundle makes it none', async () => {
  const { store } = await filled();
  const other = openMemoryStore();
  const longer = Buffer.concat([await exported(store), Buffer.alloc(512)]);
  expect(await codeOf(imported(other, longer))).toBe('ASSAY_BUNDLE_DAMAGED');
  expect(await visibleIn(other)).toEqual([]);
});

test('a set that no client would read from a server is not exported', async () => {
  const store = openMemoryStore();
  const many = Array.from({ length: 20_001 }, (_, at) => ({ ...fact, path: `read-${at}` }));
  const action = addressOf('observed').key;
  await addPathSet(action, many, localPathSets(store), recordedState);
  await store.results.put(addressOf('observed'), resultNaming());
  expect(encodePathSet(many).length).toBeGreaterThan(1_000_000);
  const { manifest } = await imported(openMemoryStore(), await exported(store));
  expect(manifest.counts).toMatchObject({ results: 1, sets: 0 });
});
