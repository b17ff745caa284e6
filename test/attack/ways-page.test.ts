// docs/MACHINES.md has the table of ways that machines-differ.test.ts tries, and no other.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stepOf, WAYS, waysTable } from './ways.ts';

const PAGE = join(import.meta.dirname, '../../docs/MACHINES.md');

test('the page has the table', () => {
  const [, section = ''] = readFileSync(PAGE, 'utf8').split('## Ways in which machines differ\n');
  const table = section
    .split('\n## ')[0]
    ?.split('\n')
    .filter((line) => line.startsWith('|'));
  expect(table?.join('\n')).toBe(waysTable());
});

test('there are more than 40 ways, each with a name of its own', () => {
  expect(new Set(WAYS.map(stepOf)).size).toBe(WAYS.length);
  expect(WAYS.length).toBeGreaterThan(40);
});
