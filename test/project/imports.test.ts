// Imports point one way: between the rooms, and between the folders of a room. So the core stays
// pure, the client free of the server, and a reader who starts at the bottom of a room never has to look up. Types count.
import { readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ORDER, ROOMS } from './order.ts';
import { type Import, importsIn, importsOf, isTestOfWing, ROOT, sourcesOf } from './sources.ts';

/**
 * Imports against the order, loaded where they are needed: most runs need none of them, so a start does not
 * pay for them. Each is the one place where a folder reaches a special form of its own work.
 */
const LATE_AGAINST_ORDER: readonly string[] = ['client/remote/open.ts -> client/remote/grpc'];

/** All that the core may take from Node: it does no I/O, starts nothing and reads no clock. */
const PURE_MODULES = ['node:crypto', 'node:util'];

describe.each(Object.entries(ROOMS))('%s', (room, allowed) => {
  const imports = importsOfRoom(room);

  test(`imports from ${['itself', ...allowed].join(', ')} alone`, () => {
    const strays = imports.filter(
      ({ target }) => target !== undefined && ![room, ...allowed].includes(roomOf(target)),
    );
    expect(strays).toEqual([]);
  });

  test('imports its own folders in one order, from the bottom to the top', () => {
    expect(againstOrder(room, imports)).toEqual([]);
  });

  test('has no two folders that import each other', () => {
    const arrows = new Set(
      imports
        .filter(({ target, kind }) => target !== undefined && roomOf(target) === room && kind !== 'late')
        .map(({ file, target = '' }) => `${wholeFolderOf(file)} -> ${wholeFolderOf(target)}`),
    );
    const both = [...arrows].filter((arrow) => {
      const [from, to] = arrow.split(' -> ');
      return from !== to && arrows.has(`${to} -> ${from}`);
    });
    expect(both).toEqual([]);
  });

  test('has a place in the order for each of its folders, and no place for another', () => {
    const folders = new Set(sourcesOf(room).map(folderOf));
    const placed = [...levelsOf(room).keys()];
    expect(placed.toSorted()).toEqual([...folders].toSorted());
  });

  test('names Node’s modules with node:, and other sources with .ts', () => {
    const unclear = imports.filter(
      ({ specifier, target }) =>
        builtinModules.includes(specifier) || (target !== undefined && !specifier.endsWith('.ts')),
    );
    expect(unclear).toEqual([]);
  });
});

test('every late import against the order is still one', () => {
  const used = Object.keys(ROOMS)
    .flatMap(importsOfRoom)
    .filter(({ kind }) => kind === 'late')
    .map(arrowOf);
  expect(LATE_AGAINST_ORDER.filter((arrow) => !used.includes(arrow))).toEqual([]);
});

test('the core is pure', () => {
  const used = importsOfRoom('core').filter(({ specifier }) => specifier.startsWith('node:'));
  expect(used.filter(({ specifier }) => !PURE_MODULES.includes(specifier))).toEqual([]);
  expect(used).not.toEqual([]);
});

test('every import of a package is of one that package.json declares', () => {
  const manifest: { dependencies: Record<string, string> } = JSON.parse(
    readFileSync(join(ROOT, 'package.json'), 'utf8'),
  );
  const packages = [...Object.keys(ROOMS), 'wings']
    .flatMap(importsOfRoom)
    .filter(({ specifier, target }) => target === undefined && !specifier.startsWith('node:'))
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
  expect(importsIn('client/x.ts', source).map(({ target, kind }) => `${target} ${kind}`)).toEqual([
    'core/a.ts value',
    'core/b.ts type',
    'core/c.ts value',
    'core/d.ts late',
    'core/e.ts value',
  ]);
});

const SIDEWAYS =
  'store/scrub/scrub.ts imports store/review/forget.ts, but store/review is on the same line as store/scrub in the order of store/';

test('a violation of the order names the file, the import and the rule', () => {
  const upwards = importsIn('store/disk/fs/layout.ts', "import { x } from '../../open.ts';");
  const sideways = importsIn('store/scrub/scrub.ts', "import { x } from '../review/forget.ts';");
  const onlyTypes = importsIn('store/scrub/scrub.ts', "import type { X } from '../review/forget.ts';");
  expect(againstOrder('store', [...upwards, ...sideways, ...onlyTypes])).toEqual([
    'store/disk/fs/layout.ts imports store/open.ts, but store/open.ts is above store/disk/fs in the order of store/',
    SIDEWAYS,
    SIDEWAYS,
  ]);
});

function againstOrder(room: string, imports: readonly Import[]): string[] {
  const levels = levelsOf(room);
  return imports.flatMap((one) => {
    const { file, target, kind } = one;
    if (target === undefined || roomOf(target) !== room) return [];
    const [from, to] = [folderOf(file), folderOf(target)];
    const [own, other] = [levels.get(from), levels.get(to)];
    if (from === to || own === undefined || other === undefined || other < own) return [];
    if (kind === 'late' && LATE_AGAINST_ORDER.includes(arrowOf(one))) return [];
    const relation = other === own ? 'on the same line as' : 'above';
    return [`${file} imports ${target}, but ${to} is ${relation} ${from} in the order of ${room}/`];
  });
}

function levelsOf(room: string): Map<string, number> {
  const lines = ORDER[room] ?? [];
  return new Map(lines.flatMap((line, level) => line.split(/ +/).map((name) => [`${room}/${name}`, level])));
}

function importsOfRoom(room: string): Import[] {
  return sourcesOf(room)
    .filter((file) => !isTestOfWing(file))
    .flatMap(importsOf);
}

function arrowOf({ file, target }: Import): string {
  return `${file} -> ${folderOf(target ?? '')}`;
}

/** A file's folder, or the file itself at the root of a room. */
function folderOf(file: string): string {
  const folder = dirname(file);
  return folder.includes('/') ? folder : file;
}

/** The folder of the room, with all that is below it. */
function wholeFolderOf(file: string): string {
  return file.split('/').slice(0, 2).join('/');
}

function roomOf(file: string): string {
  return file.split('/')[0] ?? '';
}
