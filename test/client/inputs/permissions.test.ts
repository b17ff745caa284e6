// README's guarantee for a declared file: its content and executable bit are in the key, other modes are not.
import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Workshop } from '../../rig/assay.ts';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
});

afterEach(() => shop.remove());

test('only the executable bit of an input’s mode is in the key, and README says so', async () => {
  const input = shop.write('in', '1', 0o644);
  const outcome = async (mode: number) => {
    chmodSync(input, mode);
    return (await shop.run(['--input', 'in', '--output', 'out', '--', 'sh', '-c', 'cat in > out'])).summary
      .outcome;
  };
  expect(await outcome(0o644)).toBe('miss');
  expect(await outcome(0o400)).toBe('hit-local');
  expect(await outcome(0o666)).toBe('hit-local');
  expect(await outcome(0o744)).toBe('miss');
  const readme = readFileSync(join(import.meta.dirname, '../../../README.md'), 'utf8');
  expect(readme).toContain('every declared file counts by its content and its executable bit');
  expect(readme).not.toContain('mode and link');
});
