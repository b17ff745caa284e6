// Shell scripts and file tools: every listing, probe and link counts for them, because a shell can act on any name.
import { type Cook, type Recipe, versions } from './recipe.ts';

const FLAT = {
  'src/a.js': versions((word) => `a ${word}\n`),
  'src/b.js': versions((word) => `b ${word}\n`),
};

const FILES = {
  ...FLAT,
  'src/lib/c.js': versions((word) => `c ${word}\n`),
  'src/lib/conf': versions((word) => `conf ${word}\n`),
  'other/a.js': versions((word) => `other a ${word}\n`),
};

const TEMPTING = {
  'src/data.json': '{}\n',
  'src/debug.log': 'log\n',
  'src/.a.js.swp': 'swap\n',
  'src/gen.tmp': 'tmp\n',
  'src/lib/conf.local': 'local conf\n',
  'src/lib/e.js': 'e\n',
  'lib/c.js': 'c of lib\n',
};

const INPUTS: Recipe['inputs'] = [
  ['src/*.js'],
  ['src/**/*.js'],
  ['src'],
  ['src/**'],
  ['src/**', '!src/**/*.tmp'],
  ['**', '!**/*.json'],
  [],
];

const PROJECT = {
  files: FILES,
  tempting: TEMPTING,
  inputs: INPUTS,
  ignored: '*.log\n*.local\nlib/\n!src/lib\n',
};

/** Tools that take a whole folder. */
export const copy: Cook = (random, isGated) => {
  const way = random.pick([
    { part: 'cp -r src dist', argv: ['cp', '-r', 'src', 'dist'], outputs: ['dist'] },
    { part: 'cp -r src dist', argv: ['cp', '-r', 'src', 'dist'], outputs: ['dist'] },
    { part: 'cp -rL src dist', argv: ['cp', '-rL', 'src', 'dist'], outputs: ['dist'] },
    { part: 'tar --sort=name --mtime=@0 --owner=0 --group=0 -cf all.tar src', outputs: ['all.tar'] },
  ]);
  const { part, ...rest } = way;
  // A folder whose names all match `src/*.js`: a listing of it shows nothing undeclared.
  const files = random.below(3) === 0 ? FLAT : FILES;
  return {
    name: `copy: ${part}`,
    ...PROJECT,
    files,
    parts: [part],
    ...(isGated ? { outputs: rest.outputs } : rest),
  };
};

/** Each line adds to out/list what it sees. */
const LOOKS = [
  'ls src',
  'ls -F src',
  'ls -A src/lib',
  'find src -type f | LC_ALL=C sort',
  'find . -name "*.js" -not -path "./.assay/*" | LC_ALL=C sort',
  'for f in src/*; do echo "$f"; done',
  'for f in src/*.js; do cat "$f"; done',
  'cat src/lib/conf.local 2>/dev/null || cat src/lib/conf',
  'if [ -d src/lib ]; then echo folder; fi; if [ -L src/lib ]; then echo link; fi',
  'if [ -e src/data.json ]; then echo data; fi',
  '(cd src/lib && ls ..)',
  'cat src/lib/c.js src/a.js',
  'grep -rc . src | LC_ALL=C sort',
  'head -c 5 src/a.js',
  'readlink src/lib || echo no link',
  'test -x src/a.js && echo executable || echo plain',
];

/** Scripts of one to three lines. */
export const look: Cook = (random) => {
  const looks = random.shuffled(LOOKS).slice(0, 1 + random.below(3));
  const parts = looks.map((line) => `{ ${line}; } >> out/list`);
  return {
    name: `shell: ${looks.join('; ')}`,
    ...PROJECT,
    parts: [`mkdir out; ${parts[0]}`, ...parts.slice(1)],
    outputs: ['out'],
  };
};
