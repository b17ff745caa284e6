// Bundles that no export writes: each is refused, nothing of it is visible, and none takes more memory than an honest one.
import { zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { digestOf, toWire } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { type Namespace, parseNamespace } from '../../../core/namespace.ts';
import { openMemoryStore } from '../../../test/rig/stores/memory/store.ts';
import {
  addressOf,
  contentOf,
  outputFile,
  putOne,
  resultNaming,
  resultWith,
  treeOf,
} from '../../../test/store/content.ts';
import type { BundleRecord } from '../format/records.ts';
import { tarHeader } from '../format/tar.ts';
import { exported, filesIn, forged, forgedFrom, imported, visibleIn } from './rig/bundles.ts';

const MIB = 1024 * 1024;
const HERE = parseNamespace('');
const BLOB = contentOf('blob', 1000);
const digest = digestOf(BLOB);
const { key } = addressOf('key');

async function codeFrom(bundle: Buffer): Promise<string> {
  const store = openMemoryStore();
  try {
    await imported(store, bundle);
  } catch (error) {
    expect(await visibleIn(store)).toEqual([]);
    return error instanceof AssayError ? error.code : String(error);
  }
  return 'imported';
}

function resultRecord(message: Buffer, namespace: Namespace = HERE): BundleRecord {
  return { result: { in: namespace, key, message } };
}

function linkTo(path: string, target: string): Buffer {
  return resultWith({ outputSymlinks: [{ path, target }] });
}

test('a forged bundle with honest records is taken, so that each refusal below has one cause', async () => {
  expect(await codeFrom(await forged([resultRecord(resultNaming(digest))], [BLOB]))).toBe('imported');
});

test.each([
  ['an absolute path', resultWith({ outputFiles: [outputFile('/etc/passwd', digest)] })],
  ['a path above the workspace', resultWith({ outputFiles: [outputFile('../outside', digest)] })],
  ['a path with an empty part', resultWith({ outputFiles: [outputFile('a//b', digest)] })],
  ['a path with a part "."', resultWith({ outputFiles: [outputFile('a/./b', digest)] })],
  ['a path with NUL', resultWith({ outputFiles: [outputFile('a\0b', digest)] })],
  ['a hook of git', resultWith({ outputFiles: [outputFile('.git/hooks/post-checkout', digest)] })],
  ['the folder of git in another spelling', resultWith({ outputFiles: [outputFile('.GIT/config', digest)] })],
  ['a link out of the workspace', linkTo('out', '../../etc')],
  ['an absolute link', linkTo('out', '/etc/passwd')],
  ['a blob that is not in the bundle', resultNaming(digestOf(contentOf('another', 5)))],
  ['a blob of another size', resultNaming({ hash: digest.hash, size: 999 })],
  ['no message at all', Buffer.from('ff', 'hex')],
])('a result with %s is refused', async (_, message) => {
  expect(await codeFrom(await forged([resultRecord(message)], [BLOB]))).toBe('ASSAY_BUNDLE_REFUSED');
});

test.each([
  ['whose file is not in the bundle', treeOf(digestOf(contentOf('another', 5)))],
  ['that is none', contentOf('no tree', 50)],
])('a result with a Tree %s is refused', async (_, tree) => {
  const folder = { path: 'out', treeDigest: toWire(digestOf(tree)), isTopologicallySorted: false };
  const message = resultWith({ outputDirectories: [folder] });
  expect(await codeFrom(await forged([resultRecord(message)], [BLOB, tree]))).toBe('ASSAY_BUNDLE_REFUSED');
});

test('one bad result among good ones refuses the whole bundle', async () => {
  const good = Array.from(
    { length: 5 },
    (_, at): BundleRecord => ({
      result: { in: HERE, key: addressOf(`good ${at}`).key, message: resultNaming(digest) },
    }),
  );
  expect(await codeFrom(await forged([...good, resultRecord(linkTo('a', '/etc'))], [BLOB]))).toBe(
    'ASSAY_BUNDLE_REFUSED',
  );
});

test.each(['acme', '~path-sets', '!diverged/', 'saved/../state', 'state/x', 'STATE', 'saved/0'])(
  'a bundle names no namespace: %s',
  async (namespace) => {
    const line = { result: { in: namespace, key, message: resultNaming(digest).toString('base64') } };
    const made = { made: { at: '2026-11-19T12:00:00Z', assay: '0.3.0', where: '' } };
    const lines = [made, line, { blob: [digest.hash, digest.size] }].map((one) => `${JSON.stringify(one)}\n`);
    expect(await codeFrom(await forgedFrom(lines.join(''), BLOB))).toBe('ASSAY_BUNDLE_DAMAGED');
  },
);

test('a label of a result that is not in the bundle is refused', async () => {
  const label: BundleRecord = { label: { in: parseNamespace('state'), label: 'step/none', key } };
  expect(await codeFrom(await forged([label], [BLOB]))).toBe('ASSAY_BUNDLE_REFUSED');
});

test.each([
  ['that is not in the bundle', digestOf(contentOf('another', 5)).hash],
  ['that is none', digest.hash],
])('a path set %s is refused', async (_, set) => {
  expect(await codeFrom(await forged([{ set: { action: key, set } }], [BLOB]))).toBe('ASSAY_BUNDLE_REFUSED');
});

test.each([
  ['that is no JSON', 'nonsense\n'],
  ['with a field more', `${JSON.stringify({ blob: [digest.hash, digest.size], mode: 1 })}\n`],
  ['of an unknown kind', '{"run":"sh"}\n'],
  ['with a blob twice', `${JSON.stringify({ blob: [digest.hash, digest.size] })}\n`.repeat(2)],
  ['with a negative size', `${JSON.stringify({ blob: [digest.hash, -1] })}\n`],
  ['with a hash in upper case', `${JSON.stringify({ blob: [digest.hash.toUpperCase(), 5] })}\n`],
  ['that is not ended', JSON.stringify({ blob: [digest.hash, digest.size] })],
])('a manifest with a line %s is refused', async (_, line) => {
  const made = { made: { at: '2026-11-19T12:00:00Z', assay: '0.3.0', where: '' } };
  expect(await codeFrom(await forgedFrom(`${JSON.stringify(made)}\n${line}`, BLOB))).toBe(
    'ASSAY_BUNDLE_DAMAGED',
  );
});

test('a manifest that is none of the bundle is refused', async () => {
  expect(await codeFrom(await forgedFrom('', BLOB))).toBe('ASSAY_BUNDLE_DAMAGED');
  const other = { bundle: digestOf(Buffer.from('another')).hash };
  expect(await codeFrom(await forged([resultRecord(resultNaming(digest))], [BLOB], other))).toBe(
    'ASSAY_BUNDLE_DAMAGED',
  );
});

test('a blob with other bytes is refused', async () => {
  const other = contentOf('other', BLOB.length);
  const record = resultRecord(resultNaming(digest));
  expect(await codeFrom(await forged([record], [other], {}, [digest]))).toBe('ASSAY_BUNDLE_DAMAGED');
});

test('an index that lies is refused', async () => {
  const bundle = await forged([resultRecord(resultNaming(digest))], [BLOB]);
  const files = filesIn(bundle);
  const index = files.find(({ name }) => name === 'index.zst');
  const end = files.at(-1);
  if (!index || !end) throw new Error('a bundle has an index and an end');
  const lie = zstdCompressSync(Buffer.from('{"manifest":[[0,1]],"content":[[0,1]]}\n'));
  const lying = Buffer.concat([
    bundle.subarray(0, index.at - 512),
    tarHeader('index.zst', lie.length),
    lie,
    Buffer.alloc(512 - (lie.length % 512)),
    bundle.subarray(end.at - 512),
  ]);
  expect(await codeFrom(lying)).toBe('ASSAY_BUNDLE_DAMAGED');
  const elsewhere = Buffer.from(bundle);
  elsewhere.write(elsewhere.toString('latin1', end.at, end.at + 512).replace(/\[\d/, '[9'), end.at, 'latin1');
  expect(await codeFrom(elsewhere)).toBe('ASSAY_BUNDLE_DAMAGED');
});

test('a tar of other files, of links, or with names in other spellings is refused', async () => {
  const bundle = await forged([resultRecord(resultNaming(digest))], [BLOB]);
  for (const { at } of filesIn(bundle)) {
    const begin = at - 512;
    const name = bundle.toString('latin1', begin, begin + 100).replace(/\0.*$/s, '');
    const size = Number.parseInt(bundle.toString('latin1', begin + 124, begin + 135), 8);
    const link = tarHeader(name, size);
    link.write('2', 156);
    const summed = (header: Buffer) => {
      header.fill(' ', 148, 156);
      const sum = header.reduce((total, byte) => total + byte, 0);
      header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
      return header;
    };
    const headers = [`./${name}`, `/${name}`, `../${name}`, name.toUpperCase()].map((other) =>
      tarHeader(other, size),
    );
    for (const header of [...headers, summed(link)]) {
      const changed = Buffer.concat([bundle.subarray(0, begin), header, bundle.subarray(at)]);
      expect(await codeFrom(changed)).toBe('ASSAY_BUNDLE_DAMAGED');
    }
  }
});

test('a newer format is refused by its name, whatever else it has', async () => {
  const head = Buffer.from('{"format":2,"something":"new"}\n');
  const newer = Buffer.concat([tarHeader('assay-bundle.json', head.length), head, Buffer.alloc(10_000, 1)]);
  expect(await codeFrom(newer)).toBe('ASSAY_BUNDLE_FORMAT');
});

test('a frame that grows to 4 GiB, and sizes that nobody has, take no memory', async () => {
  const store = openMemoryStore();
  await putOne(store, BLOB);
  await store.results.put(addressOf('key'), resultNaming(digest));
  const bundle = await exported(store);
  /* 64 MiB of zeros a frame: zstd makes 2 KB of each. */
  const zeros = zstdCompressSync(Buffer.alloc(64 * MIB));
  const bomb = Buffer.concat(Array.from({ length: 64 }, () => zeros));
  const before = process.memoryUsage().rss;
  for (const name of ['manifest/00000000.zst', 'content/00000000.zst', 'index.zst']) {
    const file = filesIn(bundle).find((one) => one.name === name);
    if (!file) throw new Error(`a bundle has ${name}`);
    const rest = file.at + Math.ceil(file.size / 512) * 512;
    const padding = Buffer.alloc((512 - (bomb.length % 512)) % 512);
    const header = tarHeader(name, bomb.length);
    const bombed = [bundle.subarray(0, file.at - 512), header, bomb, padding, bundle.subarray(rest)];
    expect(await codeFrom(Buffer.concat(bombed))).toBe('ASSAY_BUNDLE_DAMAGED');
  }
  const records = [resultRecord(resultNaming(digest))];
  for (const head of [{ manifestBytes: 2 ** 50 }, { contentBytes: 2 ** 50 }, { contentBytes: 0 }])
    expect(await codeFrom(await forged(records, [BLOB], head))).toMatch(
      /^ASSAY_BUNDLE_(?:DAMAGED|TOO_LARGE)$/,
    );
  expect(process.memoryUsage().rss - before).toBeLessThan(200 * MIB);
});
