// The relations between the limits of hermeticity/, and between them and the constants of the helper in
// C. A change of one constant that breaks another fails here.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { RUN } from '../../client/limits.ts';
import { HERMETICITY } from '../../hermeticity/limits.ts';

const ROOM = join(import.meta.dirname, '..', '..', 'hermeticity');

/** The first group of the pattern in a source file, which must match, evaluated as a product of numbers. */
function constantIn(path: string, pattern: RegExp): number {
  const [, factors = ''] = pattern.exec(readFileSync(join(ROOM, path), 'utf8')) ?? [];
  expect(factors, `${path} has no ${pattern}`).toMatch(/^\d/);
  return factors.split('*').reduce((product, factor) => product * Number(factor), 1);
}

describe('a traced command', () => {
  test('is recorded with paths of the same length by both tracers', () => {
    const longest = constantIn('native/path.h', /LONGEST_PATH = ([\d* ]+)/);
    expect(HERMETICITY.maxPathBytes).toBe(longest);
  });

  test('is recorded with paths longer than the kernel accepts in one call', () => {
    const pathMax = constantIn('../test/hermeticity/witness/accesses.ts', /PATH_MAX = (\d+)/);
    expect(HERMETICITY.maxPathBytes).toBeGreaterThan(pathMax);
  });

  test('may leave a process behind for as long as its streams may stay open', () => {
    expect(HERMETICITY.lingerMs).toBe(RUN.streamsCloseMs);
  });

  test('is traced by a tracer whose self-test can outlast a process that lingers', () => {
    expect(HERMETICITY.trialMs).toBeGreaterThan(2 * HERMETICITY.lingerMs);
  });
});
