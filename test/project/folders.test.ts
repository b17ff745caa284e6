// No folder grows until nobody finds his way in it: the number of files in a folder has a limit.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { expect, test } from 'vitest';
import { isTestOfWing, ROOT, sourcesOf } from './sources.ts';

/** Loose sources at the root of these rooms. Their work is in their folders. */
const ROOMS = ['client', 'server', 'store', 'hermeticity', 'system'];
const LOOSE_IN_ROOM = 9;

/** Files with the same extension in any other folder. */
const OF_ONE_KIND = 25;

/** Numbered pages, found through the index in their README. */
const EXEMPT = ['docs/decisions'];

test(`the root of ${ROOMS.join(', ')} holds at most ${LOOSE_IN_ROOM} loose sources`, () => {
  const crowded = countByKind(trackedFiles()).filter(
    ({ folder, kind, count }) => ROOMS.includes(folder) && kind === '.ts' && count > LOOSE_IN_ROOM,
  );
  expect(crowded).toEqual([]);
});

test(`any other folder holds at most ${OF_ONE_KIND} files of one kind`, () => {
  const crowded = countByKind(trackedFiles()).filter(
    ({ folder, count }) => !EXEMPT.includes(folder) && count > OF_ONE_KIND,
  );
  expect(crowded).toEqual([]);
});

test('files are counted by folder and by kind', () => {
  const files = ['a/x.ts', 'a/y.ts', 'a/b/z.ts', 'a/z.md', 'a/run'];
  expect(countByKind(files)).toEqual([
    { folder: 'a', kind: '.ts', count: 2 },
    { folder: 'a/b', kind: '.ts', count: 1 },
    { folder: 'a', kind: '.md', count: 1 },
    { folder: 'a', kind: 'run', count: 1 },
  ]);
});

interface Count {
  readonly folder: string;
  readonly kind: string;
  readonly count: number;
}

function countByKind(files: readonly string[]): Count[] {
  const counts = new Map<string, Count>();
  for (const file of files) {
    const folder = dirname(file);
    const kind = extname(file) || basename(file);
    const key = `${folder}/*${kind}`;
    counts.set(key, { folder, kind, count: (counts.get(key)?.count ?? 0) + 1 });
  }
  return [...counts.values()];
}

/** All that git tracks, and new files that it does not ignore. */
function trackedFiles(): string[] {
  const list = ['ls-files', '--cached', '--others', '--exclude-standard', '-z'];
  return [...new Set(execFileSync('git', list, { cwd: ROOT, encoding: 'utf8' }).split('\0'))].filter(Boolean);
}

test('every folder of sources has a README that names each of its files', () => {
  const rooms = [
    'bin',
    'client',
    'core',
    'hermeticity',
    'server',
    'store',
    'system',
    'wings',
    'test/project',
    'test/rig',
  ];
  const sources = rooms
    .flatMap(sourcesOf)
    .filter(
      (file) =>
        !file.startsWith('core/proto/generated/') && !file.endsWith('.test.ts') && !isTestOfWing(file),
    );
  const unnamed = sources.filter((file) => !readmeOf(dirname(file)).includes(basename(file)));
  expect(unnamed).toEqual([]);
});

function readmeOf(folder: string): string {
  const page = join(ROOT, folder, 'README.md');
  return existsSync(page) ? readFileSync(page, 'utf8') : '';
}
