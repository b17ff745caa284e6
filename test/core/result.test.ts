import { describe, expect, test } from 'vitest';
import { digestOf, toWire } from '../../core/digest.ts';
import { ActionResult } from '../../core/proto/generated/reapi.ts';
import {
  decodeResult,
  deterministicPart,
  referencedContent,
  verifyInlineContents,
} from '../../core/result.ts';

const wire = (content: string) => toWire(digestOf(Buffer.from(content)));
const names = (...contents: string[]) => contents.map((content) => digestOf(Buffer.from(content)));
const result = (parts: Partial<ActionResult>): ActionResult => ({
  outputFiles: [],
  outputDirectories: [],
  outputFileSymlinks: [],
  outputDirectorySymlinks: [],
  outputSymlinks: [],
  exitCode: 0,
  stdoutRaw: Buffer.alloc(0),
  stderrRaw: Buffer.alloc(0),
  ...parts,
});
const file = (path: string, content: string, isExecutable = false) => ({
  path,
  isExecutable,
  digest: wire(content),
  contents: Buffer.alloc(0),
});
const folder = (path: string, content: string) => ({
  path,
  isTopologicallySorted: false,
  treeDigest: wire(content),
});

describe('the content that a result references', () => {
  test('is its files, Trees, folders and both logs', () => {
    const named = referencedContent(
      result({
        outputFiles: [file('a', 'A')],
        outputDirectories: [
          folder('d', 'tree'),
          { path: 'e', isTopologicallySorted: false, rootDirectoryDigest: wire('directory') },
        ],
        stdoutDigest: wire('out'),
        stderrDigest: wire('err'),
      }),
    );
    expect(named.blobs).toEqual(names('A', 'tree', 'directory', 'out', 'err'));
    expect(named.trees).toEqual(names('tree'));
    expect(named.directories).toEqual(names('directory'));
  });

  test('is listed once, however often it appears', () => {
    const twice = result({ outputFiles: [file('a', 'A'), file('b', 'A')], stdoutDigest: wire('A') });
    expect(referencedContent(twice).blobs).toEqual(names('A'));
  });

  test('has two entries for one hash with two sizes, so that the wrong size is a miss', () => {
    const right = file('a', 'A');
    const wrong = { ...right, path: 'b', digest: { hash: right.digest.hash, sizeBytes: 2 } };
    const { blobs } = referencedContent(result({ outputFiles: [wrong, right] }));
    expect(blobs.map(({ size }) => size)).toEqual([2, 1]);
  });

  test('is nothing for a result that is empty', () => {
    expect(referencedContent(decodeResult(new Uint8Array(0)))).toEqual({
      blobs: [],
      trees: [],
      directories: [],
    });
  });

  test.each<[string, Partial<ActionResult>]>([
    ['a file', { outputFiles: [{ path: 'a', isExecutable: false, contents: Buffer.alloc(0) }] }],
    ['a folder', { outputDirectories: [{ path: 'a', isTopologicallySorted: false }] }],
  ])('can not be %s without a digest', (_, parts) => {
    expect(() => referencedContent(result(parts))).toThrow(/ASSAY_RESULT_MALFORMED.*"a"/);
  });

  test('is refused if a digest is malformed', () => {
    const malformed = result({ stdoutDigest: { hash: 'short', sizeBytes: 1 } });
    expect(() => referencedContent(malformed)).toThrow(/ASSAY_BAD_DIGEST/);
  });
});

test('a size beyond what JavaScript counts exactly is refused', () => {
  const sizeOf2To60 = Buffer.from([0x32, 0x0a, 0x10, ...Array(8).fill(0x80), 0x10]);
  expect(() => decodeResult(sizeOf2To60)).toThrow(/ASSAY_RESULT_MALFORMED/);
});

describe('the deterministic part of a result', () => {
  const base = result({
    outputFiles: [file('a', 'A'), file('b', 'B', true)],
    outputDirectories: [folder('d', 'D'), folder('e', 'E')],
    outputSymlinks: [
      { path: 'l', target: 'a' },
      { path: 'm', target: 'b' },
    ],
  });
  const outcome = (parts: Partial<ActionResult>) =>
    Buffer.from(deterministicPart({ ...base, ...parts })).toString('hex');

  test.each<[string, Partial<ActionResult>]>([
    ['logs', { stdoutRaw: Buffer.from('x'), stderrRaw: Buffer.from('y') }],
    ['logs as digests', { stdoutDigest: wire('x'), stderrDigest: wire('y') }],
    ['times', { executionMetadata: { worker: 'elsewhere', auxiliaryMetadata: [] } }],
    [
      'the order of lists',
      {
        outputFiles: [...base.outputFiles].reverse(),
        outputDirectories: [...base.outputDirectories].reverse(),
      },
    ],
    ['the list that a link stands in', { outputSymlinks: [], outputFileSymlinks: base.outputSymlinks }],
    [
      'content inlined',
      { outputFiles: base.outputFiles.map((one) => ({ ...one, contents: Buffer.from('A') })) },
    ],
  ])('does not differ by %s', (_, parts) => {
    expect(outcome(parts)).toBe(outcome({}));
  });

  test.each<[string, Partial<ActionResult>]>([
    ['the exit code', { exitCode: 1 }],
    ['content', { outputFiles: [file('a', 'other'), file('b', 'B', true)] }],
    ['an executable bit', { outputFiles: [file('a', 'A'), file('b', 'B')] }],
    ['a path', { outputFiles: [file('c', 'A'), file('b', 'B', true)] }],
    ['a Tree', { outputDirectories: [folder('d', 'other'), folder('e', 'E')] }],
    [
      'a link’s target',
      {
        outputSymlinks: [
          { path: 'l', target: 'b' },
          { path: 'm', target: 'b' },
        ],
      },
    ],
    ['an output less', { outputFiles: [file('a', 'A')] }],
  ])('differs by %s', (_, parts) => {
    expect(outcome(parts)).not.toBe(outcome({}));
  });

  test('is itself a result', () => {
    expect(decodeResult(deterministicPart(base)).outputFiles).toHaveLength(2);
    expect(ActionResult.encode(decodeResult(deterministicPart(base))).finish()).toEqual(
      deterministicPart(base),
    );
  });
});

describe('content inlined in a result', () => {
  const carrying = (contents: string) =>
    result({ outputFiles: [{ ...file('a', 'A'), contents: Buffer.from(contents) }] });

  test('is accepted if it matches its digest, or is empty', () => {
    verifyInlineContents(carrying('A'));
    verifyInlineContents(carrying(''));
  });

  test.each(['B', 'AA'])('is refused when it is %j in place of "A"', (contents) => {
    expect(() => verifyInlineContents(carrying(contents))).toThrow(
      expect.objectContaining({ code: 'ASSAY_DIGEST_MISMATCH' }),
    );
  });
});
