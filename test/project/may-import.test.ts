// What the README of a folder says that it may import is all that the folder imports. A folder whose README says nothing
// is covered by the folder above it. Types may come from anywhere, because they vanish at run time.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { importsOf, isTestOfWing, ROOT, sourcesOf, wingNames } from './sources.ts';

const TRUNK = ['core', 'system', 'store', 'hermeticity', 'client', 'server'];
const ROOMS = [...TRUNK, 'bin', ...wingNames().map((name) => `wings/${name}`)];
const FILES = ROOMS.flatMap(sourcesOf).filter((file) => !isTestOfWing(file));

/** By folder, for each folder whose README says it: folders end with a slash, and `x/*.ts` are the loose files of x. */
const SAID = new Map(
  [...new Set(FILES.flatMap(foldersAbove))].flatMap((folder) => {
    const said = saidIn(readmeOf(folder));
    return said === undefined ? [] : [[folder, said] as const];
  }),
);

test('the README of each room and wing says what it may import', () => {
  expect(ROOMS.filter((room) => !SAID.has(room))).toEqual([]);
  expect(SAID.size).toBeGreaterThan(70);
});

test('no folder imports what the README above it does not name', () => {
  const strays = FILES.flatMap((file) => {
    const folder = foldersAbove(file).find((one) => SAID.has(one)) ?? '';
    const allowed = [`${folder}/`, ...(SAID.get(folder) ?? [])];
    return importsOf(file)
      .filter(({ target, kind }) => target !== undefined && kind !== 'type' && !covers(allowed, target))
      .map(({ target }) => `${file} imports ${target}, which ${folder}/README.md does not name`);
  });
  expect(strays).toEqual([]);
});

test('no README names what is not there', () => {
  const gone = [...SAID].flatMap(([folder, said]) =>
    said
      .filter((name) => !existsSync(join(ROOT, name.replace(/\/\*\.ts$/, ''))))
      .map((name) => `${folder}: ${name}`),
  );
  expect(gone).toEqual([]);
});

test('a sentence is read to its end, and one of no known form is refused', () => {
  expect(saidIn('May import: `core/`,\n`store/*.ts`, `client/limits.ts`. Guaranteed: `x/`.')).toEqual([
    'core/',
    'store/*.ts',
    'client/limits.ts',
  ]);
  expect(saidIn('May import: the trunk. Guaranteed: all.')).toEqual(TRUNK.map((room) => `${room}/`));
  expect(saidIn('May import: nothing beside itself.')).toEqual([]);
  expect(saidIn('Guaranteed: all.')).toBeUndefined();
  expect(() => saidIn('May import: what is below.')).toThrow('what is below');
  expect(covers(['a/', 'b/*.ts', 'c/d.ts'], 'a/e/f.ts')).toBe(true);
  expect(covers(['a/', 'b/*.ts', 'c/d.ts'], 'b/f.ts')).toBe(true);
  expect(covers(['a/', 'b/*.ts', 'c/d.ts'], 'b/e/f.ts')).toBe(false);
  expect(covers(['a/', 'b/*.ts', 'c/d.ts'], 'c/f.ts')).toBe(false);
});

function saidIn(text: string): string[] | undefined {
  const [, sentence] = /\bMay import: ([\s\S]*?)[.;](?:\s|$)/.exec(text) ?? [];
  if (sentence === undefined) return undefined;
  if (sentence === 'the trunk') return TRUNK.map((room) => `${room}/`);
  if (sentence.startsWith('nothing beside itself')) return [];
  const names = [...sentence.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
  if (sentence.replaceAll(/`[^`]+`/g, '').replaceAll(/[,\s]/g, '') !== '' || names.length === 0)
    throw new Error(`not a list of paths: ${sentence}`);
  return names;
}

function covers(allowed: readonly string[], target: string): boolean {
  return allowed.some(
    (name) =>
      name === target ||
      (name.endsWith('/') && target.startsWith(name)) ||
      name === `${dirname(target)}/*.ts`,
  );
}

/** From the file's own folder to its room. */
function foldersAbove(file: string): string[] {
  const folder = dirname(file);
  return folder === '.' ? [] : [folder, ...foldersAbove(folder)];
}

function readmeOf(folder: string): string {
  const page = join(ROOT, folder, 'README.md');
  return existsSync(page) ? readFileSync(page, 'utf8') : '';
}
