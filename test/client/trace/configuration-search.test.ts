// A search for configuration is no finding, but it is compared before every hit: a file that appears in one
// of the searched folders, in the workspace or above it, is a miss.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Workshop } from '../../rig/assay.ts';
import { DEBIAN_PATH } from '../audit/real-projects.ts';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
});

afterEach(() => shop.remove());

/** Searches a name from src up to the root, as tools do. */
const SEARCH = `
const { existsSync, readFileSync, writeFileSync } = require('node:fs');
const { dirname, join } = require('node:path');
const name = process.argv[2];
let folder = join(process.cwd(), 'src');
for (;;) {
  if (existsSync(join(folder, name))) { writeFileSync('out', readFileSync(join(folder, name))); process.exit(); }
  if (folder === '/') break;
  folder = dirname(folder);
}
writeFileSync('out', 'none');
`;

test.each(['eslint.config.js', 'tool.settings'])('for %s: a file that appears is a miss', async (name) => {
  shop.write('search.cjs', SEARCH);
  shop.write('src/a', 'a');
  const argv = [
    '--input',
    'search.cjs',
    '--input',
    'src/a',
    '--output',
    'out',
    '--',
    'node',
    'search.cjs',
    name,
  ];
  const run = async () => (await shop.run(argv, { env: { PATH: DEBIAN_PATH } })).summary;
  const first = await run();
  expect(first).toMatchObject({ outcome: 'miss', status: 'declared', published: true });
  expect((await run()).outcome).toBe('hit-local');
  for (const place of ['src', '.', '..']) {
    const file = join(shop.workspace, place, name);
    writeFileSync(file, 'x');
    expect((await run()).outcome, place).toBe('miss');
    rmSync(file);
    expect((await run()).outcome, place).toBe('hit-local');
  }
});
