// Somebody links a file of installed software while a command runs, as pnpm does for another project. The result is kept
// if that is all that happened to the file.
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MINUTES, npmTool, run, workshop } from '../../clients/rig.ts';
import type { RanWithSummary, Workshop } from '../../rig/assay.ts';

const OLD = new Date('2026-01-01');
/** The command stops here until the test has done its edit. */
const pause = (gate: string) =>
  `echo "at ${gate} $TMPDIR"; while [ ! -e "$TMPDIR/${gate}" ]; do sleep 0.05; done`;
const SCRIPT = (file: string) =>
  `cat in >o; cat ${file} >>o; ${pause('one')}; cat ${file} >>o; ${pause('two')}`;

type Edits = Readonly<Record<'one' | 'two', () => unknown>>;
const NOTHING: Edits = { one: () => {}, two: () => {} };

/** The edits are made while the command waits between its two reads, and behind both. */
async function ran(
  shop: Workshop,
  script: string,
  edits: Edits = NOTHING,
  flags: readonly string[] = [],
): Promise<RanWithSummary> {
  const waiting = new Set(['one', 'two'] as const);
  return shop.run(['--input', 'in', '--output', 'o', ...flags, '--', 'sh', '-c', script], {
    onSaid: ({ stdout }) => {
      for (const gate of waiting) {
        const [, scratch] = new RegExp(`at ${gate} (\\S+)`).exec(stdout) ?? [];
        /* A hit shows the words of an earlier run. */
        if (scratch === undefined || !existsSync(scratch)) continue;
        waiting.delete(gate);
        void Promise.resolve(edits[gate]()).then(() => writeFileSync(join(scratch, gate), ''));
      }
    },
  });
}

interface Case {
  readonly shop: Workshop;
  readonly path: string;
  link(): void;
  unlink(): void;
  /** Writes a content of the same size, and gives the file its old mtime. */
  put(content: string): void;
}

/** `file` has an old mtime, as packages have. */
function caseOf(file: string): Case {
  const shop = workshop();
  const path = shop.write(file, 'old\n');
  shop.write('in', '1');
  utimesSync(path, OLD, OLD);
  return {
    shop,
    path,
    link: () => linkSync(path, join(shop.folder, 'link')),
    unlink: () => rmSync(join(shop.folder, 'link')),
    put: (content) => {
      writeFileSync(path, content);
      utimesSync(path, OLD, OLD);
    },
  };
}

/** A first run, whose facts say what the file is. An edit of the input lets the command run again. */
async function ranBefore({ shop }: Case, file: string): Promise<void> {
  expect((await ran(shop, SCRIPT(file))).summary.published).toBe(true);
  shop.write('in', '2');
}

const PACKAGED = 'node_modules/pkg/lib.js';

test.each<[string, (one: Case) => Edits]>([
  ['between two reads', ({ link }) => ({ ...NOTHING, one: link })],
  ['behind them', ({ link }) => ({ ...NOTHING, two: link })],
  [
    'and unlinked before',
    (one) => {
      one.link();
      return { ...NOTHING, two: one.unlink };
    },
  ],
])('a file of a package that is linked %s is the same', async (_, edits) => {
  const one = caseOf(PACKAGED);
  const made = edits(one);
  await ranBefore(one, PACKAGED);
  const { summary } = await ran(one.shop, SCRIPT(PACKAGED), made);
  expect(summary.notPublished).toBeUndefined();
  expect((await ran(one.shop, SCRIPT(PACKAGED))).summary.outcome).toBe('hit-local');
  one.put('new\n');
  expect((await ran(one.shop, SCRIPT(PACKAGED))).summary.outcome).toBe('miss');
});

/** Edits that are made one after the other. */
const all =
  (...edits: readonly (() => unknown)[]) =>
  () =>
    edits.forEach((edit) => void edit());

test.each<[string, string, (one: Case) => Partial<Edits>]>([
  ['a file of the workspace', 'lib.js', ({ link }) => ({ one: link })],
  ['a touched file', PACKAGED, ({ path }) => ({ one: () => chmodSync(path, lstatSync(path).mode) })],
  [
    'a file that became a program',
    PACKAGED,
    ({ path, link }) => ({ one: all(link, () => chmodSync(path, 0o755)) }),
  ],
  [
    'a file with another time',
    PACKAGED,
    ({ path, link }) => ({ one: all(link, () => utimesSync(path, OLD, new Date())) }),
  ],
  ['other content', PACKAGED, ({ link, put }) => ({ one: all(link, () => put('new\n')) })],
  [
    'other content for a while',
    PACKAGED,
    ({ link, put }) => ({ one: all(link, () => put('new\n')), two: () => put('old\n') }),
  ],
  [
    'other content for a while, and a link that goes too',
    PACKAGED,
    ({ link, unlink, put }) => ({
      one: all(link, () => put('new\n')),
      two: all(() => put('old\n'), unlink),
    }),
  ],
  [
    'another file',
    PACKAGED,
    ({ path, put }) => ({
      one: all(
        () => rmSync(path),
        () => put('old\n'),
      ),
    }),
  ],
])('not the same while its command runs: %s', async (_, file, edits) => {
  const one = caseOf(file);
  await ranBefore(one, file);
  const { summary } = await ran(one.shop, SCRIPT(file), { ...NOTHING, ...edits(one) });
  expect(summary.notPublished).toContain(`${file} changed while it ran`);
});

test('a link of before the run explains no change during it', async () => {
  const one = caseOf(PACKAGED);
  await ranBefore(one, PACKAGED);
  one.link();
  const { summary } = await ran(one.shop, SCRIPT(PACKAGED), {
    one: () => one.put('new\n'),
    two: () => one.put('old\n'),
  });
  expect(readFileSync(join(one.shop.workspace, 'o'), 'utf8')).toContain('new');
  expect(summary.notPublished).toContain('changed while it ran');
});

test.each([
  ['is linked', true],
  ['is another one for a while, and linked', false],
])('a tool of a package that %s', async (_, isSame) => {
  const tool = 'node_modules/pkg/gen';
  const { shop, path, link, put } = caseOf(tool);
  const kept = join(shop.folder, 'gen');
  const install = (says: string) => {
    put(`#!/bin/sh\necho ${says}\n`);
    chmodSync(path, 0o755);
  };
  install('good');
  const replace = () => {
    renameSync(path, kept);
    install('evil');
  };
  const putBack = () => {
    renameSync(kept, path);
    link();
  };
  const script = `cat in >o; ${tool} >>o; ${pause('one')}; ${tool} >>o; ${pause('two')}`;
  const edits = isSame ? { ...NOTHING, one: link } : { one: replace, two: putBack };
  const { summary } = await ran(shop, script, edits, ['--tool', `./${tool}`]);
  const said = readFileSync(join(shop.workspace, 'o'), 'utf8');
  expect(said).toContain(isSame ? 'good\ngood' : 'good\nevil');
  expect(summary.published).toBe(isSame);
});

test('a file whose content of before the run nobody knows is not the same', async () => {
  const one = caseOf(PACKAGED);
  const { summary } = await ran(one.shop, SCRIPT(PACKAGED), { ...NOTHING, one: one.link });
  expect(summary.notPublished).toContain('changed while it ran');
});

test('pnpm installs another project while a command runs, and its result is kept', {
  timeout: 2 * MINUTES,
}, async () => {
  const shop = workshop();
  const env = { npm_config_update_notifier: 'false' };
  const install = (cwd: string) =>
    run([npmTool('pnpm'), 'install', '--offline', '--store-dir', join(shop.folder, 'pnpm')], {
      cwd,
      home: shop.folder,
      env,
    });
  shop.write('package/package.json', '{"name": "pkg", "version": "1.0.0"}', 0o644, shop.folder);
  shop.write('package/lib.js', 'exports.text = "packaged";', 0o644, shop.folder);
  await run(['tar', '-czf', 'pkg.tgz', 'package'], { cwd: shop.folder, home: shop.folder });
  const manifest = JSON.stringify({ name: 'one', dependencies: { pkg: `file:${shop.folder}/pkg.tgz` } });
  const other = shop.another('other');
  for (const folder of [shop.workspace, other]) shop.write('package.json', manifest, 0o644, folder);
  await install(shop.workspace);
  shop.write('in', '1');

  const print = `node -p 'require("pkg/lib.js").text' >>o`;
  const script = `cp in o; ${print}; ${pause('one')}; ${print}; ${pause('two')}`;
  expect((await ran(shop, script)).summary.published).toBe(true);
  shop.write('in', '2');
  const file = join(shop.workspace, 'node_modules/pkg/lib.js');
  const before = lstatSync(file);
  const { summary } = await ran(shop, script, { ...NOTHING, one: () => install(other) });
  expect(lstatSync(file).nlink).toBe(before.nlink + 1);
  expect(summary.notPublished).toBeUndefined();
});
