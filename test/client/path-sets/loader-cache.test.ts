// Facts about the dynamic loader's cache: a result depends on what the cache has for the libraries that were
// looked up, not on the other packages of a machine. The caches are made by the real ldconfig. Another
// machine is a mount namespace with another /etc/ld.so.cache.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LoaderCache, loaderCache, RENAMED } from '../../../client/path-sets/loader-cache.ts';
import { loaderEntries } from '../../../client/path-sets/loader-cache-format.ts';
import { type Summary, Workshop } from '../../rig/assay.ts';
import { factIs } from '../run/misses.ts';
import { Machine } from './machine.ts';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
});

afterEach(() => shop.remove());

/** Compiles a library that says `word`. */
function library(folder: string, name: string, word: string): string {
  const at = join(shop.workspace, folder);
  mkdirSync(at, { recursive: true });
  const source = shop.write(`${folder}/${name}.c`, `const char *word(void) { return "${word}"; }\n`);
  const file = join(at, `lib${name}.so.1`);
  execFileSync('cc', ['-shared', '-fPIC', `-Wl,-soname,lib${name}.so.1`, '-o', file, source]);
  return file;
}

/** A loader cache of this machine's libraries and of those in some folders of the workspace. */
function cacheWith(name: string, folders: readonly string[], format = 'new'): string {
  const settings = join(shop.folder, `${name}.conf`);
  const file = join(shop.folder, name);
  writeFileSync(settings, folders.map((folder) => `${join(shop.workspace, folder)}\n`).join(''));
  execFileSync('ldconfig', ['-X', '-c', format, '-C', file, '-f', settings]);
  return file;
}

const ON_EVERY_PROCESSOR = () => 'any';

function cacheIn(file: string): LoaderCache {
  const entries = loaderEntries(readFileSync(file));
  if (!entries) throw new Error(`${file} was not understood`);
  return new LoaderCache(entries);
}

describe('a cache of ldconfig', () => {
  test('has the same state for a library, whatever else is installed', () => {
    library('lib', 'mine', 'one');
    library('more', 'other', 'two');
    const without = cacheIn(cacheWith('a', ['lib']));
    const withOther = cacheIn(cacheWith('b', ['lib', 'more']));
    for (const name of ['libmine.so.1', 'libc.so.6'])
      expect(withOther.state(name, ON_EVERY_PROCESSOR)).toBe(without.state(name, ON_EVERY_PROCESSOR));
    expect(without.state('libmine.so.1', ON_EVERY_PROCESSOR)).toMatch(/^value [0-9a-f]{64}$/);
    expect(without.state('libother.so.1', ON_EVERY_PROCESSOR)).toBe('absent');
    expect(withOther.state('libother.so.1', ON_EVERY_PROCESSOR)).toMatch(/^value /);
  });

  test('has another state for a library that lies elsewhere', () => {
    library('lib', 'mine', 'one');
    library('moved', 'mine', 'one');
    const states = ['lib', 'moved'].map((folder) =>
      cacheIn(cacheWith(folder, [folder])).state('libmine.so.1', ON_EVERY_PROCESSOR),
    );
    expect(new Set(states).size).toBe(2);
  });

  test('answers the same in the old and the new format', () => {
    library('lib', 'mine', 'one');
    const [both, alone] = ['compat', 'new'].map((format) => cacheIn(cacheWith(format, ['lib'], format)));
    for (const name of ['libmine.so.1', 'libc.so.6', RENAMED])
      expect(both?.state(name, ON_EVERY_PROCESSOR)).toBe(alone?.state(name, ON_EVERY_PROCESSOR));
  });

  test('for a library with a file for certain processors, the state depends on the processor', () => {
    library('lib', 'mine', 'one');
    library('lib/glibc-hwcaps/x86-64-v3', 'mine', 'fast');
    library('lib/glibc-hwcaps/x86-64-v2', 'mine', 'medium');
    const cache = cacheIn(cacheWith('a', ['lib']));
    const plain = loaderEntries(readFileSync(cacheWith('a', ['lib'])))?.filter(
      ({ name }) => name === 'libmine.so.1',
    );
    expect(plain?.map(({ features }) => features).sort()).toEqual(['', 'x86-64-v2', 'x86-64-v3']);
    expect(cache.state('libmine.so.1', () => 'old')).not.toBe(cache.state('libmine.so.1', () => 'new'));
    expect(cache.state('libc.so.6', () => 'old')).toBe(cache.state('libc.so.6', () => 'new'));
  });

  test('a library whose file has another name is in the state of the renamed ones', () => {
    const entry = { name: 'libmine.so.1', flags: 3, features: '', path: '/lib/libmine-1.2.so' };
    const same = { ...entry, path: '/lib/libmine.so.1' };
    expect(new LoaderCache([same]).state(RENAMED, ON_EVERY_PROCESSOR)).toBe('absent');
    expect(new LoaderCache([same, entry]).state(RENAMED, ON_EVERY_PROCESSOR)).toMatch(/^value /);
  });
});

test('the cache of this machine is parsed once as long as it does not change', () => {
  expect(loaderCache()).toBeDefined();
  expect(loaderCache()).toBe(loaderCache());
});

describe('a file that is no cache', () => {
  test.each([
    ['empty', Buffer.alloc(0)],
    ['text', Buffer.from('hello')],
    ['the old format alone', Buffer.concat([Buffer.from('ld.so-1.7.0\0'), Buffer.alloc(64)])],
    [
      'the other byte order',
      Buffer.concat([Buffer.from('glibc-ld.so.cache1.1'), Buffer.alloc(8), Buffer.from([3])]),
    ],
  ])('has no entries: %s', (_, bytes) => {
    expect(loaderEntries(bytes)).toBeUndefined();
  });

  test('a cache that is cut or damaged anywhere has no entries, or other ones, and takes no longer', () => {
    const bytes = readFileSync(cacheWith('a', []));
    for (let length = 0; length < bytes.length; length += 97) loaderEntries(bytes.subarray(0, length));
    for (let at = 0; at < 2_000; at += 7) {
      const damaged = Buffer.from(bytes);
      damaged[at] = (damaged[at] ?? 0) ^ 0xff;
      loaderEntries(damaged);
    }
    expect(loaderEntries(bytes.subarray(0, bytes.length / 2))).toBeUndefined();
  });
});

describe('two machines', () => {
  const FLAGS = ['--input=lib/**', '--input=prog', '--output=out'];

  /** A program that uses libmine, without saying where it is. */
  function program(): void {
    const file = library('lib', 'mine', 'one');
    const source = shop.write(
      'main.c',
      '#include <stdio.h>\nconst char *word(void);\nint main(void) { puts(word()); }\n',
    );
    execFileSync('cc', ['-o', join(shop.workspace, 'prog'), source, file]);
  }

  async function on(cache: string, command: string): Promise<Summary & { out: string }> {
    const machine = new Machine({ '/etc/ld.so.cache': cache });
    const { summary } = await machine.run(shop, [...FLAGS, '--', 'sh', '-c', command]);
    return { ...summary, out: readFileSync(join(shop.workspace, 'out'), 'utf8') };
  }

  test('share a result if their caches differ by an unrelated package', async () => {
    program();
    library('more', 'other', 'two');
    const [one, two] = [cacheWith('a', ['lib']), cacheWith('b', ['lib', 'more'])];
    expect(await on(one, './prog > out')).toMatchObject({ outcome: 'miss', published: true, out: 'one\n' });
    expect(await on(two, './prog > out')).toMatchObject({ outcome: 'hit-local', out: 'one\n' });
    expect(await on(one, './prog > out')).toMatchObject({ outcome: 'hit-local' });
  });

  test('do not if the cache has another file for a library that was looked up, and the reason names it', async () => {
    program();
    library('moved', 'mine', 'moved');
    const [one, two] = [cacheWith('a', ['lib']), cacheWith('b', ['moved'])];
    expect(await on(one, './prog > out')).toMatchObject({ outcome: 'miss', out: 'one\n' });
    // The second hit is found up to date: the stat of the cache decides.
    for (let run = 0; run < 2; run++)
      expect(await on(one, './prog > out')).toMatchObject({ outcome: 'hit-local' });
    const elsewhere = await on(two, './prog > out');
    expect(elsewhere).toMatchObject({ outcome: 'miss', out: 'moved\n' });
    expect(elsewhere.reason).toContain(factIs('libmine.so.1 in /etc/ld.so.cache', 'another'));
    expect(await on(one, './prog > out')).toMatchObject({ outcome: 'hit-local', out: 'one\n' });
  });

  test('do not if the program itself reads the cache', async () => {
    program();
    library('more', 'other', 'two');
    const [one, two] = [cacheWith('a', ['lib']), cacheWith('b', ['lib', 'more'])];
    const read = 'cksum < /etc/ld.so.cache > out';
    expect(await on(one, read)).toMatchObject({ outcome: 'miss', published: true });
    expect((await on(two, read)).reason).toContain('/etc/ld.so.cache changed');
    expect(await on(one, read)).toMatchObject({ outcome: 'hit-local' });
  });

  test('a cache that cannot be understood counts by its content', async () => {
    shop.write('prog', '');
    shop.write('lib/x', '');
    const odd = [1, 2].map((number) => {
      const file = join(shop.folder, `odd${number}`);
      writeFileSync(file, `no cache ${number}`);
      return file;
    });
    const [one = '', two = ''] = odd;
    expect(await on(one, 'echo > out')).toMatchObject({ outcome: 'miss', published: true });
    expect((await on(two, 'echo > out')).reason).toContain('/etc/ld.so.cache changed');
    expect(await on(one, 'echo > out')).toMatchObject({ outcome: 'hit-local' });
  });
});
