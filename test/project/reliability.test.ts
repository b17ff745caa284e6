// docs/RELIABILITY.md says what the tests show: every fault has a test that keeps its figures, and no promise
// has others than zeros beside it where zero is what was promised.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { keptFigures, reliabilityPage } from '../../scripts/reliability-page.ts';
import { FAULTS, type Fault } from '../rig/faults.ts';
import { isOfMissingWing } from './missing-wings.ts';

const ROOT = join(import.meta.dirname, '../..');
const kept: Readonly<Record<string, Readonly<Record<string, number | string>>>> = keptFigures();

/** Figures with these words in their name are harm done. */
const HARM =
  /\b(wrong|lost|torn|crashes|restarts|partial|missing|outside|served whole|did not open|differences|taken or kept|early|immortal)\b/;

test('the page is what npm run reliability writes', () => {
  expect(readFileSync(join(ROOT, 'docs/RELIABILITY.md'), 'utf8')).toBe(reliabilityPage(keptFigures()));
});

describe.each(Object.entries<Fault>(FAULTS))('%s', (name, { test: file }) => {
  test.skipIf(isOfMissingWing(file))('has a test that keeps its figures', () => {
    expect(existsSync(join(ROOT, file))).toBe(true);
    expect(readFileSync(join(ROOT, file), 'utf8')).toContain(`keepFigures('${name}'`);
  });

  test('has figures, and none of them is harm', () => {
    const figures = Object.entries(kept[name] ?? {});
    expect(figures.length).toBeGreaterThan(1);
    expect(figures.filter(([what, figure]) => HARM.test(what) && figure !== 0)).toEqual([]);
  });
});

test.each<[string, string, ...string[]]>([
  [
    'server-kill',
    'blobs and results, sent or next in line',
    'acknowledged',
    'cut off or not yet sent, and not there',
    'there and whole, though not yet acknowledged',
  ],
  ['adapter-kill', 'uploads begun', 'acknowledged', 'cut off'],
  ['client-kill', 'kills', 'hits after it', 'misses after it'],
  [
    'small-disk',
    'uploads',
    'taken',
    'refused with 507 for want of space',
    'results refused with 409, as their blob had been refused',
  ],
  ['hostile-trees', 'hostile results', 'refused', 'restored inside the workspace'],
])('the figures of %s add up to its %s', (name, whole, ...parts) => {
  const figures = kept[name] ?? {};
  expect(parts.reduce((sum, part) => sum + Number(figures[part]), 0)).toBe(figures[whole]);
});
