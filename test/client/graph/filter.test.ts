// The packages that a filter selects, and what is refused.
import { describe, expect, test } from 'vitest';
import type { Package } from '../../../client/config/packages.ts';
import { filterPackages, parseFilter } from '../../../client/graph/select/filter.ts';
import { parseRelPath } from '../../../core/path.ts';

const made = (name: string, folder: string, dependencies: readonly string[] = []): Package => ({
  name,
  folder: parseRelPath(folder),
  scripts: new Map(),
  dependencies,
  file: { dependencies: [], defaults: {}, packageSteps: new Map(), steps: new Map() },
});

/** web -> ui -> core, admin -> ui, and two packages that depend on each other. */
const PACKAGES = [
  made('', ''),
  made('web', 'apps/web', ['@acme/ui', 'react']),
  made('admin', 'apps/admin', ['@acme/ui']),
  made('@acme/ui', 'libs/ui', ['@acme/core.js']),
  made('@acme/core.js', 'libs/core'),
  made('ping', 'libs/ping', ['pong']),
  made('pong', 'libs/pong', ['ping']),
];

const CHANGED: Readonly<Record<string, readonly string[]>> = {
  main: ['libs/ui/src/a.ts', 'apps/gone/b.ts'],
  same: [],
};

function select(...filters: readonly string[]): string[] {
  const changedSince = (ref: string) => (CHANGED[ref] ?? []).map((path) => parseRelPath(path));
  const found = filterPackages(filters.map(parseFilter), PACKAGES, changedSince);
  return PACKAGES.map(({ name }) => name).filter((name) => found.has(name));
}

const ALL = PACKAGES.map(({ name }) => name);

test.each<[string[], string[]]>([
  [['web'], ['web']],
  [['//'], ['']],
  [['@acme/*'], ['@acme/ui', '@acme/core.js']],
  [['ui'], ['@acme/ui']],
  [['core.js'], ['@acme/core.js']],
  [['web...'], ['web', '@acme/ui', '@acme/core.js']],
  [['web^...'], ['@acme/ui', '@acme/core.js']],
  [['...@acme/ui'], ['web', 'admin', '@acme/ui']],
  [['...^@acme/ui'], ['web', 'admin']],
  [['...@acme/ui...'], ['web', 'admin', '@acme/ui', '@acme/core.js']],
  [['@acme/core.js...'], ['@acme/core.js']],
  [['ping...'], ['ping', 'pong']],
  [['...^ping'], ['pong']],
  [['./apps/*'], ['web', 'admin']],
  [['./apps'], ['web', 'admin']],
  [['{libs/ui}...'], ['@acme/ui', '@acme/core.js']],
  [['...{./libs/core/}'], ['web', 'admin', '@acme/ui', '@acme/core.js']],
  [['[main]'], ['', '@acme/ui']],
  [['...[main]'], ['', 'web', 'admin', '@acme/ui']],
  [['[same]'], []],
  [['...[same]...'], []],
  [['@acme/*[main]'], ['@acme/ui']],
  [['@acme/*{./libs/u*}[main]...'], ['@acme/ui', '@acme/core.js']],
  [
    ['web', 'ping'],
    ['web', 'ping'],
  ],
  [
    ['web...', '!@acme/core.js'],
    ['web', '@acme/ui'],
  ],
  [['!...@acme/ui'], ['', '@acme/core.js', 'ping', 'pong']],
  [
    ['!{libs}', '!//'],
    ['web', 'admin'],
  ],
  [['!web', 'web'], []],
  [['{.}'], ALL],
])('%j selects %j', (filters, names) => {
  expect(select(...filters)).toEqual(names);
});

describe('refused', () => {
  test.each<[string, string | RegExp]>([
    ['', 'NAME, {FOLDER}, [REF]'],
    ['!', 'NAME, {FOLDER}, [REF]'],
    ['...', 'NAME, {FOLDER}, [REF]'],
    ['[]', 'NAME, {FOLDER}, [REF]'],
    ['{}', 'NAME, {FOLDER}, [REF]'],
    ['[main]web', 'in that order'],
    ['web[main', 'in that order'],
    ['web...[main]', 'at the start'],
    ['[main...topic]', 'at the start'],
    ['^web', 'NAME^...'],
    ['web^', 'NAME^...'],
    ['{../other}', 'inside it'],
    ['{/etc}', 'inside it'],
    ['./apps{libs}', 'two folders'],
    ['wbe', 'no package has that name; did you mean web?'],
    ['!wbe', 'did you mean web?'],
    ['wbe...', 'did you mean web?'],
    ['@acme/x*', 'no package has that name'],
    ['{app}', 'no package lies in that folder'],
    ['web{./libs}', 'no package has that name'],
  ])('%j', (filter, words) => {
    expect(() => select(filter)).toThrow(words);
  });

  test('a name that is no part of two names', () => {
    const twins = [made('@a/ui', 'a'), made('@b/ui', 'b')];
    expect(() => filterPackages([parseFilter('ui')], twins, () => [])).toThrow('no package has that name');
  });
});

test('a chain of 20,000 packages is walked', () => {
  const chain = Array.from({ length: 20_000 }, (_, n) => made(`p${n}`, `p/${n}`, [`p${n + 1}`]));
  expect(filterPackages([parseFilter('p0...')], chain, () => []).size).toBe(20_000);
  expect(filterPackages([parseFilter('...p19999')], chain, () => []).size).toBe(20_000);
});
