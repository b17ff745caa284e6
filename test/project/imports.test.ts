// Imports point one way between the rooms, which is what keeps the core pure and the client free of the server.
import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join, normalize, relative } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

/** Which rooms each room may import from, beside itself. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  core: [],
  store: ['core'],
  hermeticity: ['core'],
  server: ['core', 'store'],
  client: ['core', 'store', 'hermeticity'],
  bin: ['core', 'client', 'server'],
};

/** All that the core may take from Node: it does no I/O, starts nothing and reads no clock. */
const PURE_MODULES = ['node:crypto', 'node:util'];

const IMPORT =
  /^\s*(?:import|export)\s[^'"]*?from\s+['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]|^import\s+['"]([^'"]+)['"]/gm;

interface Import {
  readonly file: string;
  readonly specifier: string;
  /** The room of a relative import, or nothing for a package or one of Node's modules. */
  readonly room?: string | undefined;
}

describe.each(Object.entries(ROOMS))('%s', (room, allowed) => {
  const imports = importsOf(room);

  test(`imports from ${['itself', ...allowed].join(', ')} alone`, () => {
    const strays = imports.filter((one) => one.room !== undefined && ![room, ...allowed].includes(one.room));
    expect(strays).toEqual([]);
  });

  test('names Node’s modules with node:, and other sources with .ts', () => {
    const unclear = imports.filter(
      ({ specifier, room: target }) =>
        builtinModules.includes(specifier) || (target !== undefined && !specifier.endsWith('.ts')),
    );
    expect(unclear).toEqual([]);
  });
});

test('the core is pure', () => {
  const used = importsOf('core').filter(({ specifier }) => specifier.startsWith('node:'));
  expect(used.filter(({ specifier }) => !PURE_MODULES.includes(specifier))).toEqual([]);
  expect(used).not.toEqual([]);
});

test('every import of a package is of one that package.json declares', () => {
  const manifest: { dependencies: Record<string, string> } = JSON.parse(
    readFileSync(join(ROOT, 'package.json'), 'utf8'),
  );
  const packages = Object.keys(ROOMS)
    .flatMap(importsOf)
    .filter(({ specifier, room }) => room === undefined && !specifier.startsWith('node:'))
    .map(({ specifier }) =>
      specifier
        .split('/')
        .slice(0, specifier.startsWith('@') ? 2 : 1)
        .join('/'),
    );
  expect(packages).not.toEqual([]);
  expect(packages.filter((name) => !(name in manifest.dependencies))).toEqual([]);
});

test('the walk sees every kind of import', () => {
  const source = [
    "import { a } from '../core/a.ts';",
    "import type {\n  B,\n} from '../core/b.ts';",
    "export { c } from '../core/c.ts';",
    "const d = await import('../core/d.ts');",
    "import '../core/e.ts';",
  ].join('\n');
  expect(specifiersOf(source).map((specifier) => specifier.at(-4))).toEqual(['a', 'b', 'c', 'd', 'e']);
});

function importsOf(room: string): Import[] {
  return sourcesOf(room).flatMap((file) =>
    specifiersOf(readFileSync(join(ROOT, file), 'utf8')).map((specifier) => ({
      file,
      specifier,
      room: specifier.startsWith('.') ? roomOf(file, specifier) : undefined,
    })),
  );
}

function sourcesOf(room: string): string[] {
  return readdirSync(join(ROOT, room), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
}

function specifiersOf(source: string): string[] {
  return [...source.matchAll(IMPORT)].flatMap(([, from, dynamic, bare]) => from ?? dynamic ?? bare ?? []);
}

function roomOf(file: string, specifier: string): string {
  return normalize(join(dirname(file), specifier)).split('/')[0] ?? '';
}
