// Texts of the machine in outputs: the forms in which they are found, and what is no such text.
import { describe, expect, test } from 'vitest';
import { type MachineText, MachineTextSearch } from '../../../client/outputs/machine-text.ts';
import type { Output } from '../../../client/outputs/outputs.ts';
import { digestOf } from '../../../core/digest.ts';
import { parseRelPath } from '../../../core/path.ts';

const WORKSPACE = text('workspace', 'path', '/work/app');
const HOME = text('home', 'path', '/home/annasmith');
const USER = text('user', 'name', 'annasmith');
const HOST = text('host', 'name', 'build-7');
const ALL = [WORKSPACE, HOME, USER, HOST, text('kernel', 'name', '6.1.0-18-amd64')];

function text(property: string, kind: MachineText['kind'], value: string): MachineText {
  return { property, kind, text: value };
}

/** The properties that are found in a file. */
function found(content: string | Buffer, texts: readonly MachineText[] = ALL): string[] {
  const search = new MachineTextSearch(texts);
  const bytes = Buffer.from(content);
  const digests = search.wrap({
    digest(_name, _stats, _locate, onRead) {
      onRead?.(bytes, true);
      return digestOf(bytes);
    },
  });
  const unused = (): never => {
    throw new Error('the file was read again');
  };
  digests.digest('out', { size: bytes.length } as never, unused);
  return [...search.found([]).keys()].sort();
}

test('each search finds all of its texts, whatever the one before found', () => {
  const content = 'annasmith at build-7 in /work/app';
  for (const texts of [ALL, [USER], ALL, [HOST, USER], ALL]) {
    const names = texts.map(({ property }) => property);
    const expected = ['host', 'user', 'workspace'].filter((property) => names.includes(property));
    expect(found(content, texts)).toEqual(expected);
    expect(found('nothing', texts)).toEqual([]);
    expect(found(content, texts)).toEqual(expected);
  }
});

describe('the path of the workspace', () => {
  test.each([
    ['in a line', 'made in /work/app\n'],
    ['alone', '/work/app'],
    ['with a file', '"/work/app/src/main.c"'],
    ['at the end of a sentence', 'It lies in /work/app.'],
    ['after a flag', 'gcc -I/work/app/include'],
    ['in a search path', 'PATH=/usr/bin:/work/app:/bin'],
    ['in quotes', '‘/work/app’'],
    ['in JSON with escaped slashes', '{"dir":"\\/work\\/app\\/src"}'],
    ['in a URL', 'file:///work/app/x'],
    ['in a part of a URL', '?from=%2Fwork%2Fapp%2Fx'],
    ['after its length in a binary file', Buffer.from('\0\xfa9/work/app/src/x.py\0', 'latin1')],
    ['before another text in a binary file', Buffer.from('\0/work/appsrc/main.rs\0')],
    ['as UTF-16', Buffer.from('x /work/app y', 'utf16le')],
    ['as UTF-16 at an odd position', Buffer.concat([Buffer.from('x'), Buffer.from('/work/app', 'utf16le')])],
    ['as big-endian UTF-16', Buffer.from('x /work/app y', 'utf16le').swap16()],
  ])('is found %s', (_, content) => {
    expect(found(content)).toEqual(['workspace']);
  });

  test.each([
    ['a longer name', '/work/app2 /work/app-2 /work/app_old /work/app.old/x'],
    ['a longer name as UTF-16', Buffer.from('/work/app2/x', 'utf16le')],
    ['a part of it', '/work/ap /work app'],
    ['a path in the sandbox', '/workspace/app'],
  ])('is not found in %s', (_, content) => {
    expect(found(content)).toEqual([]);
  });

  test.each([
    [
      'a space',
      '/work/my app',
      ['"/work/my app/x"', 'main.o: /work/my\\ app/x.h', 'file:///work/my%20app/x'],
    ],
    [
      'umlauts',
      '/work/bücher',
      ['/work/bücher', '/work/b\\u00fccher', '/work/b\\303\\274cher', '/work/b%C3%BCcher'],
    ],
    ['a quote', '/work/a"b c', ['"/work/a\\"b c"', '/work/a&quot;b c']],
    ['an ampersand', '/work/a&bcd', ['<p>/work/a&amp;bcd</p>']],
  ])('is found with %s in it, as others escape that', (_, path, contents) => {
    for (const content of contents)
      expect(found(content, [text('workspace', 'path', path)])).toEqual(['workspace']);
  });

  test.each([
    ['/build', '/build/x.c "/build" -I/build/include DIR=/build', ''],
    ['/build', '', 'out/build/x ../build/x ./build $X/build $(X)/build /builder/x </build>'],
    ['/src', '/src "/src/x"', '/src2 lib/src ../src/x /srcs'],
    ['/src', Buffer.from('\0/src\0'), Buffer.from('\0/srcx\0')],
    ['/w', '', '/w /w/x'],
    ['/', '', '/ /x'],
  ])('as short as %s is found only where it begins', (path, yes, no) => {
    const texts = [text('workspace', 'path', path)];
    for (const part of yes.toString().split(' ').filter(Boolean))
      expect(found(part, texts), part).toEqual(['workspace']);
    expect(found(no, texts)).toEqual([]);
  });
});

describe('a name', () => {
  test.each([
    ['the user', 'by annasmith, today', ['user']],
    ['the user in JSON', '"line\\nannasmith"', ['user']],
    ['the host', 'on build-7.example.org', ['host']],
    ['the kernel', 'Linux 6.1.0-18-amd64 x86_64', ['kernel']],
    ['the home', '/home/annasmith/.cache/x', ['home']],
    ['the home and the user', '/home/annasmith/x by annasmith', ['home', 'user']],
  ])('is found: %s', (_, content, properties) => {
    expect(found(content)).toEqual(properties);
  });

  test.each([
    ['the host in a longer name', 'build-71 rebuild-7 build-7_x'],
    ['the user in a longer name', 'annasmithson joannasmith'],
    ['another home', '/home/annasmith2/x'],
  ])('is not found: %s', (_, content) => {
    expect(found(content)).toEqual([]);
  });

  test('inside the path of the workspace counts as that path', () => {
    const texts = [text('workspace', 'path', '/home/annasmith/src/build-7'), HOME, USER, HOST];
    expect(found('in /home/annasmith/src/build-7/x', texts)).toEqual(['workspace']);
    expect(found('"\\/home\\/annasmith\\/src\\/build-7"', texts)).toEqual(['workspace']);
    expect(found('in /home/annasmith/src/build-77/x', texts)).toEqual(['home']);
    expect(found('/home/annasmith/src/build-7 build-7', texts)).toEqual(['host', 'workspace']);
  });

  test('of 5 bytes is too short, also as a home', () => {
    expect(found('/root/x', [text('home', 'path', '/root')])).toEqual([]);
  });

  test.each(['root', 'anna', 'runner', 'ubuntu', 'localhost', 'Vagrant'])('%s is too common', (name) => {
    expect(found(`by ${name}`, [text('user', 'name', name)])).toEqual([]);
  });
});

test('a file whose digest is known is read for the search', async () => {
  const { mkdtempSync, rmSync, statSync, writeFileSync } = await import('node:fs');
  const folder = mkdtempSync('/tmp/assay-test-');
  try {
    const file = `${folder}/out`;
    writeFileSync(file, 'in /work/app');
    const search = new MachineTextSearch(ALL);
    const digests = search.wrap({ digest: () => digestOf(Buffer.from('known')) });
    digests.digest('out', statSync(file), () => file);
    expect([...search.found([])]).toEqual([['workspace', 'out']]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('links and the names of files are searched; the output’s own name is declared', () => {
  const path = parseRelPath('out');
  const digest = digestOf(Buffer.alloc(0));
  const within = (...names: string[]): Output => ({
    kind: 'directory',
    path,
    entries: names.map((name) => ({ kind: 'file', path: parseRelPath(name), digest, executable: false })),
  });
  const properties = (output: Output) => [...new MachineTextSearch(ALL).found([output]).keys()];
  expect(properties({ kind: 'symlink', path, target: '/work/app/x' })).toEqual(['workspace']);
  expect(properties(within('a', 'work/app/x.html'))).toEqual(['workspace']);
  expect(properties(within('report-build-7.xml'))).toEqual(['host']);
  expect(properties(within('a', 'b'))).toEqual([]);
  const named = { kind: 'file', path: parseRelPath('by-annasmith'), digest, executable: false } as const;
  expect(properties(named)).toEqual([]);
});
