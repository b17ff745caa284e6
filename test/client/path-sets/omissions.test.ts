// The table of accesses that are no facts, entry by entry: the change that can't matter is a hit, the change that matters
// is a miss.
import { mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { OMISSIONS } from '../../../hermeticity/verdict/omissions.ts';
import { type RanWithSummary, Workshop } from '../../rig/assay.ts';

const MODULES = join(import.meta.dirname, '../../../node_modules');
const PATH = `${join(MODULES, '.bin')}:${process.env.PATH}`;
const RESULTS = 'node_modules/.vite/vitest/results.json';

/** The records of a user that does not exist: no virtual machine looks here. */
const OTHER_RECORDS = `/tmp/hsperfdata_assay-${process.pid}`;

let shop: Workshop;
const records: string[] = [];

beforeEach(() => {
  shop = new Workshop();
});

afterEach(() => {
  shop.remove();
  for (const path of [...records.splice(0), OTHER_RECORDS]) rmSync(path, { recursive: true, force: true });
});

interface Entry {
  readonly files: Readonly<Record<string, string>>;
  readonly flags: readonly string[];
  readonly command: readonly string[];
  readonly harmless: () => void;
  readonly harmful: () => void;
}

const sh = (script: string) => ['sh', '-c', script];
const at = (path: string) => join(shop.workspace, path);
const write = (path: string, text = 'other\n') => void shop.write(path, text);
const remove = (path: string) => rmSync(at(path), { recursive: true });
const touch = (path: string) => utimesSync(at(path), new Date(), new Date('2001-02-03'));

const ENTRIES: Readonly<Record<string, Entry>> = {
  'own files': {
    files: { in: 'x\n' },
    flags: ['--input', 'in', '--output', 'o'],
    command: sh('cat early 2>/dev/null >o; echo a >own; cat own in >>o; rm own'),
    harmless: () => write('own'),
    harmful: () => write('early'),
  },
  outputs: {
    files: { 'dist/o': 'old\n', 'dist/beside': '' },
    flags: ['--output', 'dist/o'],
    command: sh('cat dist/o dist/beside 2>/dev/null >"$TMPDIR/o"; cp "$TMPDIR/o" dist/o'),
    harmless: () => write('dist/o'),
    harmful: () => write('dist/beside'),
  },
  'scratch folders': {
    files: {},
    flags: ['--output', 'o'],
    command: sh(
      'ls -A "$HOME" "$TMPDIR" >"$TMPDIR/o"; cat ../home/settings >>"$TMPDIR/o"; wc -l <"$TMPDIR/o" >o',
    ),
    harmless: () => write('../home/new'),
    harmful: () => write('../home/settings'),
  },
  'declared inputs': {
    files: { in: 'x\n' },
    flags: ['--input', 'in', '--output', 'o'],
    command: sh('cat in >o'),
    harmless: () => touch('in'),
    harmful: () => write('in'),
  },
  'folders of inputs': {
    files: { 'src/in': 'x\n' },
    flags: ['--optional-input', 'src/**', '--output', 'o'],
    command: sh('test -d src && cat src/in >o'),
    harmless: () => touch('src'),
    harmful: () => {
      renameSync(at('src'), at('moved'));
      symlinkSync('moved', at('src'));
    },
  },
  'folders around the action': {
    files: { in: 'x\n' },
    flags: ['--input', 'in', '--output', 'o'],
    command: sh('test -d .. && cat in >o; test -e ../looked-for && echo there >>o; true'),
    harmless: () => write('../beside'),
    harmful: () => write('../looked-for'),
  },
  'Assay’s folder': {
    files: { '.assay/notes': 'x\n' },
    flags: ['--output', 'o'],
    command: sh('test -d .assay && cat .assay/notes >o'),
    harmless: () => write('.assay/other'),
    harmful: () => write('.assay/notes'),
  },
  'mkdir of the folders of outputs': {
    files: { in: 'x\n', 'dist/deep/o': '' },
    flags: ['--input', 'in', '--output', 'dist/deep/o'],
    command: sh('mkdir -p dist/deep; cp in dist/deep/o; test -e dist/looked-for && echo >>dist/deep/o; true'),
    harmless: () => remove('dist'),
    harmful: () => write('dist/looked-for'),
  },
  'folders of outputs for compilers': {
    files: {
      'in.js': 'import "./dist/part.js";\n',
      'dist/part.js': 'console.log(1);\n',
      'dist/deep/o.js': '',
    },
    flags: ['--input', 'in.js', '--output', 'dist/deep/o.js'],
    command: ['esbuild', 'in.js', '--bundle', '--outfile=dist/deep/o.js'],
    harmless: () => remove('dist/deep'),
    harmful: () => write('dist/part.js', 'console.log(2);\n'),
  },
  'order of tests': {
    files: {
      'node_modules/vitest/package.json': '{ "name": "vitest", "type": "module" }',
      'node_modules/vitest/vitest.mjs': `import { readFileSync } from 'node:fs';\nreadFileSync('${RESULTS}');\nreadFileSync('setup.json');\n`,
      [RESULTS]: '1',
      'setup.json': '1',
    },
    flags: ['--tool', 'node'],
    command: sh('node node_modules/vitest/vitest.mjs'),
    harmless: () => write(RESULTS),
    harmful: () => write('setup.json'),
  },
  'records of Java': {
    files: {},
    flags: ['--output', 'o'],
    command: sh(`java --version >o; ls ${OTHER_RECORDS} >>o; true`),
    harmless: () => writeRecord(`/tmp/hsperfdata_${userInfo().username}`),
    harmful: () => writeRecord(OTHER_RECORDS),
  },
};

/** As another virtual machine does. */
function writeRecord(folder: string): void {
  mkdirSync(folder, { recursive: true });
  records.push(join(folder, String(process.pid)));
  writeFileSync(join(folder, String(process.pid)), '');
}

test('each entry has its cases', () => {
  expect(Object.keys(ENTRIES).sort()).toEqual(OMISSIONS.map(({ name }) => name).sort());
});

function run({ flags, command }: Pick<Entry, 'flags' | 'command'>): Promise<RanWithSummary> {
  return shop.run(['--no-report', ...flags, '--', ...command], { env: { PATH } });
}

test.each(Object.entries(ENTRIES))('%s', async (_, entry) => {
  mkdirSync(at('../home'));
  write('../home/settings', '');
  for (const [path, text] of Object.entries(entry.files)) write(path, text);
  expect((await run(entry)).summary).toMatchObject({ outcome: 'miss', published: true });
  expect((await run(entry)).summary).toMatchObject({ outcome: 'hit-local' });
  entry.harmless();
  expect((await run(entry)).summary).toMatchObject({ outcome: 'hit-local' });
  entry.harmful();
  expect((await run(entry)).summary).toMatchObject({ outcome: 'miss' });
});

test('another program that reads the order of tests depends on it', async () => {
  write(RESULTS, '1');
  const entry = { flags: ['--output', 'o'], command: sh(`cat ${RESULTS} >o`) };
  expect((await run(entry)).summary).toMatchObject({ outcome: 'miss', published: true });
  write(RESULTS, '2');
  expect((await run(entry)).summary).toMatchObject({ outcome: 'miss' });
});
