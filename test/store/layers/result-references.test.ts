// readFileReferences finds what decoding the result finds, or nothing: also after random edits of its bytes.
import { expect, test } from 'vitest';
import { digestOf, toWire } from '../../../core/digest.ts';
import { ActionResult } from '../../../core/proto/generated/reapi.ts';
import { decodeResult, referencedContent, verifyInlineContents } from '../../../core/result.ts';
import { readFileReferences } from '../../../store/layers/result-references.ts';
import { Random } from '../../rig/random.ts';

const SEED = Number(process.env.ASSAY_TEST_SEED ?? 20_261_117);
const EDITS = 20_000;

const wireOf = (text: string) => toWire(digestOf(Buffer.from(text)));
const NOTHING = ActionResult.decode(Buffer.alloc(0));

function fileOf(name: string, more: object = {}) {
  return {
    path: `out/${name}`,
    digest: wireOf(name),
    isExecutable: false,
    contents: Buffer.alloc(0),
    ...more,
  };
}

function encoded(result: Partial<ActionResult>): Buffer {
  return Buffer.from(ActionResult.encode({ ...NOTHING, ...result }).finish());
}

const PLAIN: Partial<ActionResult> = {
  outputFiles: [fileOf('a'), fileOf('ö', { isExecutable: true }), fileOf(''), fileOf('c'.repeat(300))],
  exitCode: -3,
  stdoutDigest: wireOf('stdout'),
  stderrRaw: Buffer.from('stderr'),
  executionMetadata: {
    worker: 'w',
    queuedTimestamp: { seconds: 1, nanos: 2 },
    auxiliaryMetadata: [{ typeUrl: 'type', value: Buffer.from('value') }],
  },
};

/** As the completeness layer decodes: undefined if it refuses. */
function decoded(bytes: Buffer) {
  try {
    const result = decodeResult(bytes);
    verifyInlineContents(result);
    return referencedContent(result);
  } catch {
    return undefined;
  }
}

const plain = (digests: readonly { hash: string; size: number }[]) =>
  digests.map(({ hash, size }) => ({ hash, size }));

test.each([
  ['no outputs', {}],
  ['files, logs and metadata', PLAIN],
])('it finds what a result with %s names', (_what, result) => {
  const bytes = encoded(result);
  expect(plain(readFileReferences(bytes) ?? [])).toEqual(decoded(bytes)?.blobs);
  expect(readFileReferences(bytes)).toBeDefined();
});

test.each([
  ['the same blob twice', encoded({ outputFiles: [fileOf('a'), fileOf('a')] })],
  ['inlined content', encoded({ outputFiles: [fileOf('a', { contents: Buffer.from('a') })] })],
  ['a file without a digest', encoded({ outputFiles: [fileOf('a', { digest: undefined })] })],
  [
    'a folder',
    encoded({ outputDirectories: [{ path: 'd', treeDigest: wireOf('d'), isTopologicallySorted: false }] }),
  ],
  ['a link', encoded({ outputSymlinks: [{ path: 'l', target: 'a' }] })],
  [
    'a hash that is none',
    encoded({ outputFiles: [fileOf('a', { digest: { hash: 'x'.repeat(64), sizeBytes: 1 } })] }),
  ],
  [
    'two logs',
    Buffer.concat([encoded({ stdoutDigest: wireOf('a') }), encoded({ stdoutDigest: wireOf('b') })]),
  ],
  ['an unknown field', Buffer.concat([encoded(PLAIN), Buffer.from([0x7a, 0])])],
  ['a cut message', encoded(PLAIN).subarray(0, -1)],
  ['a log beyond the end', Buffer.from([0x2a, 5, 1])],
  ['a time beyond 2^53', Buffer.from([0x4a, 11, 0x1a, 9, 0x08, ...Array(7).fill(0xff), 0x7f])],
])('it leaves a result with %s to be decoded', (_what, bytes) => {
  expect(readFileReferences(bytes)).toBeUndefined();
});

test(`after random edits it finds what decoding finds, or nothing (seed ${SEED})`, () => {
  const random = new Random(SEED);
  const whole = encoded({ ...PLAIN, outputFiles: [fileOf('a'), fileOf('b')] });
  let found = 0;
  for (let edit = 0; edit < EDITS; edit++) {
    const bytes = edited(random, whole);
    const references = readFileReferences(bytes);
    if (!references) continue;
    found++;
    const all = decoded(bytes);
    const about = `${edit}: ${bytes.toString('hex')}`;
    expect([about, plain(references)]).toEqual([about, all?.blobs]);
    expect([all?.trees, all?.directories]).toEqual([[], []]);
  }
  expect(found).toBeGreaterThan(EDITS / 100);
});

/** One byte changed, some removed, or some repeated. */
function edited(random: Random, whole: Buffer): Buffer {
  const at = random.below(whole.length);
  const to = at + random.below(whole.length - at);
  const kind = random.below(4);
  if (kind === 0) return Buffer.concat([whole.subarray(0, at), whole.subarray(to)]);
  if (kind === 1) return Buffer.concat([whole.subarray(0, to), whole.subarray(at)]);
  const bytes = Buffer.from(whole);
  bytes[at] = kind === 2 ? random.below(256) : (bytes[at] ?? 0) ^ (1 << random.below(8));
  return bytes;
}
