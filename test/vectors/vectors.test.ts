import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { encodeAction, type Property } from '../../core/action.ts';
import { digestOf } from '../../core/digest.ts';
import { KEY_VERSION } from '../../core/key-version.ts';
import { nameOf, parentOf, parseRelPath } from '../../core/path.ts';
import { Directory } from '../../core/proto/generated/reapi.ts';
import { type Entry, encodeDirectories, encodeTree } from '../../core/tree.ts';

const HERE = import.meta.dirname;
const CURRENT = `${KEY_VERSION}.txt`;
const RULE =
  'The key of a declaration has changed. If that is meant, change KEY_VERSION in core/key-version.ts and add a vector file of ' +
  'that name; the old file stays as it is. If not, the last change broke everybody’s cache.';

interface Case {
  readonly title: string;
  readonly declared: readonly { readonly keyword: string; readonly values: readonly string[] }[];
  /** What stands after "=", without the mark. */
  readonly expected: readonly string[];
}

describe(`the keys of ${KEY_VERSION}`, () => {
  const cases = readCases(CURRENT);

  test.each(cases)('$title', (one) => {
    expect(encode(one), RULE).toEqual(one.expected);
  });

  test('are of this version, by the file’s own word', () => {
    expect(readVectors(CURRENT)).toContain(`\nversion ${JSON.stringify(KEY_VERSION)}\n`);
  });

  test('differ between cases, except where a case says that they do not', () => {
    const keys = cases.filter(({ title }) => !title.endsWith('is the same key')).map(keyOf);
    expect(new Set(keys).size).toBe(keys.length);
    const [original, reordered] = ['a compilation', 'the same declared in another order'].map((start) =>
      cases.find(({ title }) => title.startsWith(start)),
    );
    expect(reordered && keyOf(reordered)).toBe(original && keyOf(original));
  });

  test('are none of the keys of another version', () => {
    const present = new Set(cases.map(keyOf));
    for (const file of readdirSync(HERE).filter((name) => name.endsWith('.txt') && name !== CURRENT)) {
      expect(readCases(file).filter((one) => present.has(keyOf(one)))).toEqual([]);
    }
  });
});

describe('an encoder that shares no code with Assay', () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'assay-vectors-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test('Python’s protobuf computes the same bytes from the same text', () => {
    const descriptors = join(folder, 'reapi.pb');
    const proto = join(HERE, '../../core/proto');
    execFileSync('protoc', [
      `--proto_path=${proto}`,
      '--include_imports',
      `--descriptor_set_out=${descriptors}`,
      'reapi.proto',
    ]);
    const printed = execFileSync('/usr/bin/python3', ['-I', join(HERE, 'encode.py'), descriptors], {
      input: readVectors(CURRENT),
      encoding: 'utf8',
    });
    expect(printed).toBe(readVectors(CURRENT));
  });
});

function readVectors(file: string): string {
  return readFileSync(join(HERE, file), 'utf8');
}

function readCases(file: string): Case[] {
  const blocks = readVectors(file)
    .split(/^case /m)
    .slice(1);
  return blocks.map((block) => {
    const [title = '', ...lines] = block.split('\nend\n')[0]?.split('\n') ?? [];
    const expected = lines.filter((line) => line.startsWith('= ')).map((line) => line.slice(2));
    return { title, declared: lines.filter((line) => !line.startsWith('= ')).map(readLine), expected };
  });
}

function readLine(line: string) {
  const end = line.indexOf(' ');
  const values: unknown = JSON.parse(`[${line.slice(end + 1)}]`);
  if (!Array.isArray(values) || !values.every((value) => typeof value === 'string')) {
    throw new Error(`not a line of a vector: ${line}`);
  }
  return { keyword: line.slice(0, end), values };
}

function keyOf({ expected }: Case): string {
  return expected.at(-1) ?? '';
}

/** The "=" lines of a case, by Assay's encoder. */
function encode(one: Case): string[] {
  const entries = entriesOf(one);
  const directories = encodeDirectories(entries);
  const { key, action, command } = encodeAction({
    arguments: firstValues(one, 'argument'),
    workingDirectory: parseRelPath(firstValues(one, 'cwd')[0] ?? ''),
    environment: properties(one, 'env'),
    outputs: firstValues(one, 'output').map(parseRelPath),
    platform: properties(one, 'platform'),
    inputRoot: directories.root,
  });
  return [
    ...foldersOf(entries).map(
      (path) => `directory ${JSON.stringify(path)} ${hex(directoryAt(path, directories))}`,
    ),
    `tree ${hex(encodeTree(entries))}`,
    `command ${hex(command)}`,
    `action ${hex(action)}`,
    `key ${key.hash}/${key.size}`,
  ];
}

function entriesOf({ declared }: Case): Entry[] {
  return declared.flatMap(({ keyword, values: [first = '', second = ''] }): Entry[] => {
    const executable = keyword === 'executable';
    if (keyword === 'file' || executable) {
      return [{ kind: 'file', path: parseRelPath(first), digest: digestOf(Buffer.from(second)), executable }];
    }
    if (keyword === 'symlink') return [{ kind: 'symlink', path: parseRelPath(first), target: second }];
    return keyword === 'folder' ? [{ kind: 'directory', path: parseRelPath(first) }] : [];
  });
}

function firstValues({ declared }: Case, wanted: string): string[] {
  return declared.filter(({ keyword }) => keyword === wanted).map(({ values: [first = ''] }) => first);
}

function properties({ declared }: Case, wanted: string): Property[] {
  return declared
    .filter(({ keyword }) => keyword === wanted)
    .map(({ values: [name = '', value = ''] }) => ({ name, value }));
}

/** Every folder that is declared or that something lies in, sorted, the root first. */
function foldersOf(entries: readonly Entry[]): string[] {
  const folders = new Set(['']);
  for (const { kind, path } of entries) {
    for (let at = kind === 'directory' ? path : parentOf(path); at !== ''; at = parentOf(at)) folders.add(at);
  }
  return [...folders].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

/** Found from the root by name and digest, as anybody would who has only the blobs. */
function directoryAt(path: string, { root, blobs }: ReturnType<typeof encodeDirectories>): Uint8Array {
  const find = (hash: string) => [...blobs].find(([address]) => address === hash)?.[1] ?? new Uint8Array(0);
  if (path === '') return find(root.hash);
  const relPath = parseRelPath(path);
  const parent = Directory.decode(directoryAt(parentOf(relPath), { root, blobs }));
  return find(parent.directories.find(({ name }) => name === nameOf(relPath))?.digest?.hash ?? '');
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex') || '-';
}
