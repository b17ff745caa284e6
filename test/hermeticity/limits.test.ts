// The relations between the limits of hermeticity/, and between them and the constants of the two helpers in
// C. A change of one constant that breaks another fails here.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { RUN } from '../../client/limits.ts';
import { HERMETICITY, REPRODUCE } from '../../hermeticity/limits.ts';

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

describe('a repeated run', () => {
  test('lets a process outlive the command for as long as the tracer does', () => {
    expect(constantIn('reproduce/native/main.c', /linger_ms = (\d+)/)).toBe(HERMETICITY.lingerMs);
  });

  test('sees the held clock move before its time limit ends', () => {
    expect(2 * REPRODUCE.holdMs).toBeLessThanOrEqual(REPRODUCE.runMs);
  });

  test('with frozen clocks ends within the first interval of the held clock', () => {
    expect(REPRODUCE.frozenRunMs).toBeLessThan(REPRODUCE.holdMs);
    expect(REPRODUCE.frozenRunMs).toBeGreaterThan(HERMETICITY.lingerMs);
  });
});
