// A wing can be taken away: without its folder, and after `npm run generate`, types and tests of the trunk hold.
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Ran, runProcess } from '../rig/assay.ts';
import { soak } from '../rig/soak.ts';
import { ROOMS } from './order.ts';
import { ROOT, sourcesOf, wingNames } from './sources.ts';
import { sortTests } from './test-kinds.ts';

const WINGS = wingNames();

/** A copy of this checkout, without wings. */
let copy: string;

beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'assay-wings-'));
  const list = ['ls-files', '--cached', '--others', '--exclude-standard', '-z'];
  const files = execFileSync('git', list, { cwd: ROOT, encoding: 'utf8' }).split('\0').filter(Boolean);
  for (const file of files) if (!file.startsWith('wings/') && existsSync(join(ROOT, file))) bring(file);
  bring('wings/README.md');
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
});

afterAll(() => rmSync(copy, { recursive: true, force: true }));

function bring(path: string): void {
  mkdirSync(dirname(join(copy, path)), { recursive: true });
  cpSync(join(ROOT, path), join(copy, path), { recursive: true });
}

/** With a cache of compiled sources: each start but the first takes a quarter of the time. */
function node(...args: readonly string[]): Promise<Ran> {
  const env = { PATH: process.env.PATH ?? '', NODE_COMPILE_CACHE: join(copy, 'compiled') };
  return runProcess([process.execPath, ...args], { cwd: copy, env });
}

const listWings = () => node('scripts/wings-list.ts');

/** The second and later calls check only what has changed since the first. */
const checkTypes = (project = '.') =>
  node(
    'node_modules/typescript/bin/tsc',
    '-p',
    project,
    '--incremental',
    '--tsBuildInfoFile',
    'types.tsbuildinfo',
  );

/**
 * The product and the tests of its wings. The tests and scripts of the trunk import no wing (wings.test.ts), and their
 * types were checked without all wings.
 */
const PRODUCT = {
  extends: './tsconfig.json',
  include: [...Object.keys(ROOMS), 'wings'],
  exclude: ['node_modules', 'wings/*/browser'],
};

const GREEN = { code: 0, stdout: '' };

test('without all wings the types hold', async () => {
  expect(await listWings()).toMatchObject({ code: 0, stderr: '' });
  expect(readFileSync(join(copy, 'bin/wings.ts'), 'utf8')).not.toContain('/index.ts');
  expect(await checkTypes()).toMatchObject(GREEN);
});

test('a command or a setting of a missing wing: this build says that it lacks it', async () => {
  await listWings();
  for (const name of Object.keys(await commandsByWing())) {
    const { code, stderr } = await node('bin/assay.ts', ...name.split(' '), 'anything');
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('ASSAY_NOT_IN_BUILD'),
    });
    expect(stderr).toContain(`${name} is a command of wings/`);
  }
  const shared = ['--index', 'postgres://db/assay', '--blobs', 's3://bucket/prefix'];
  const serve = await node('bin/assay.ts', 'serve', '--port', '0', ...shared);
  expect(serve).toMatchObject({ code: 2, stderr: expect.stringContaining('ASSAY_NOT_IN_BUILD: --index') });
  writeFileSync(join(copy, 'server.json'), '{ "listen": { "port": 0 }, "issuers": [] }');
  const issuers = await node('bin/assay.ts', 'serve', '--config', 'server.json');
  expect(issuers).toMatchObject({ code: 2, stderr: expect.stringContaining('ASSAY_NOT_IN_BUILD: server') });
  const help = await node('bin/assay.ts', '--help');
  expect(help.stdout).toContain('\n  run ');
  for (const name of Object.keys(await commandsByWing())) expect(help.stdout).not.toContain(`\n  ${name} `);
});

async function commandsByWing(): Promise<Readonly<Record<string, string>>> {
  const { WING_OF } = await import('../../bin/wings.ts');
  return WING_OF;
}

/** Of a soak, which runs all unit and server tests of the trunk within one test. */
const HUNG_MS = 30 * 60_000;

/** In `npm test` the tests that read pages and sources: all others can only fail if the types do. */
test(
  'without all wings the unit and server tests of the trunk pass',
  async () => {
    await listWings();
    const { unit, server } = sortTests();
    const trunk = [...unit, ...server].filter((file) => !file.startsWith('wings/'));
    const chosen =
      soak(trunk.length, 1) > 1 ? trunk : trunk.filter((file) => file.startsWith('test/project/'));
    expect(chosen).not.toEqual([]);
    const { code, stdout } = await node(...vitest(chosen));
    expect(code, stdout).toBe(0);
  },
  HUNG_MS,
);

function vitest(files: readonly string[]): string[] {
  return ['node_modules/vitest/vitest.mjs', 'run', '--project', 'unit', '--project', 'server', ...files];
}

const PROJECT_FILE = 'tsconfig.product.json';
const LIST = 'bin/wings.ts';

/**
 * All wings in a soak, where each loses its folder. One in `npm test`: nothing but the list imports a wing (wings.test.ts),
 * and no wing adds to the types of others, so the types of all other files are those of the whole product. The list is
 * what changes.
 */
const TAKEN = WINGS.slice(0, soak(WINGS.length, 1));

test.each(TAKEN)('without wings/%s alone the types hold', async (missing) => {
  const others = WINGS.filter((name) => name !== missing);
  await whileThere(others, async () => {
    expect(await listWings()).toMatchObject({ code: 0, stderr: '' });
    expect(await checkTypes(PROJECT_FILE)).toMatchObject(GREEN);
  });
});

test('the list without each wing has the types of the list', async () => {
  await whileThere(WINGS, async () => {
    for (const missing of WINGS) {
      renameSync(join(copy, 'wings', missing), join(copy, missing));
      expect(await listWings()).toMatchObject({ code: 0, stderr: '' });
      renameSync(join(copy, missing), join(copy, 'wings', missing));
      const list = readFileSync(join(copy, LIST), 'utf8');
      expect(list).not.toContain(`wings/${missing}/index.ts`);
      const name = `wings-without-${missing}.ts`;
      writeFileSync(join(copy, 'bin', name), `${list}\n${inItsPlace(name)}`);
    }
    await listWings();
    expect(await checkTypes(PROJECT_FILE)).toMatchObject(GREEN);
  });
});

/** What imports the list can import the file of this name instead. */
function inItsPlace(name: string): string {
  return `export const inItsPlace: typeof import('./wings.ts') = await import('./${name}');\n`;
}

test('no wing adds to the types of other files', () => {
  const sources = WINGS.flatMap((name) => sourcesOf(`wings/${name}`));
  expect(sources.length).toBeGreaterThan(100);
  const adding = sources.filter((file) =>
    /^\s*declare (module|global)\b/m.test(readFileSync(join(ROOT, file), 'utf8')),
  );
  expect(adding).toEqual([]);
});

async function whileThere(wings: readonly string[], body: () => Promise<void>): Promise<void> {
  for (const name of wings) bring(`wings/${name}`);
  writeFileSync(join(copy, PROJECT_FILE), JSON.stringify(PRODUCT));
  try {
    await body();
  } finally {
    for (const name of wings) rmSync(join(copy, 'wings', name), { recursive: true });
  }
}
