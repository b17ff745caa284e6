// The relations between the limits of repeated runs, and between them and the constants of the helper in C.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { HERMETICITY } from '../../../hermeticity/limits.ts';
import { REPRODUCE } from '../limits.ts';

test('a repeated run lets a process outlive the command for as long as the tracer does', () => {
  const source = readFileSync(join(import.meta.dirname, '../native/main.c'), 'utf8');
  const [, milliseconds] = /linger_ms = (\d+)/.exec(source) ?? [];
  expect(Number(milliseconds)).toBe(HERMETICITY.lingerMs);
});

test('a repeated run sees the held clock move before its time limit ends', () => {
  expect(2 * REPRODUCE.holdMs).toBeLessThanOrEqual(REPRODUCE.runMs);
});

test('a run with frozen clocks ends within the first interval of the held clock', () => {
  expect(REPRODUCE.frozenRunMs).toBeLessThan(REPRODUCE.holdMs);
  expect(REPRODUCE.frozenRunMs).toBeGreaterThan(HERMETICITY.lingerMs);
});
