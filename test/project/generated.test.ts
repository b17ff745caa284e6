// What is written by a script and committed is what the script writes.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { VERSION } from '../../core/version.ts';
import { trunkPicture, wingsPicture } from '../../scripts/architecture-pictures.ts';
import { configSchema } from '../../scripts/config-schema.ts';
import { errorsPage } from '../../scripts/errors-page.ts';
import { serverSchema } from '../../scripts/server-schema.ts';
import { wingsList } from '../../scripts/wings-list.ts';
import { isSomeWingMissing } from './missing-wings.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (...parts: string[]) => readFileSync(join(ROOT, ...parts), 'utf8');

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-generated-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

test('docs/ERRORS.md is the page of the catalogue (npm run generate)', () => {
  expect(read('docs/ERRORS.md')).toBe(errorsPage());
});

test('client/config/assay.schema.json is made from the table of fields (npm run generate)', () => {
  expect(read('client/config/assay.schema.json')).toBe(configSchema());
});

test('server/config/server.schema.json is made from the table of fields (npm run generate)', () => {
  expect(read('server/config/server.schema.json')).toBe(serverSchema());
});

test('bin/wings.ts is the list of the folders of wings/ (npm run generate)', async () => {
  expect(read('bin/wings.ts')).toBe(await wingsList(read('bin/wings.ts')));
});

test('docs/images/trunk.svg shows the order of rooms and folders (npm run generate)', () => {
  expect(read('docs/images/trunk.svg')).toBe(trunkPicture());
});

test.skipIf(isSomeWingMissing())('docs/images/wings.svg shows the wings (npm run generate)', async () => {
  expect(read('docs/images/wings.svg')).toBe(await wingsPicture());
});

test('core/version.ts says what package.json says', () => {
  const manifest: { version: string } = JSON.parse(read('package.json'));
  expect(VERSION).toBe(manifest.version);
});

test('core/proto/generated is what protoc makes of the .proto files (npm run generate)', () => {
  execFileSync(join(ROOT, 'scripts/generate-proto.sh'), [folder]);
  const committed = join(ROOT, 'core/proto/generated');
  expect(sourcesBelow(folder)).toEqual(sourcesBelow(committed));
  expect(sourcesBelow(folder)).not.toEqual([]);
  for (const file of sourcesBelow(folder)) {
    expect(readFileSync(join(folder, file), 'utf8')).toBe(readFileSync(join(committed, file), 'utf8'));
  }
});

function sourcesBelow(path: string): string[] {
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .sort();
}
