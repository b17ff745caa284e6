// Every kind of dependence on the machine and the time is found and named; a reproducible action has no
// findings.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { DEPENDENT, INDEPENDENT } from './corpus.ts';
import { reproduceCase, varyHelper } from './rig.ts';

let helper: string;
beforeAll(() => {
  helper = varyHelper();
});

describe('reproduce() finds that a result depends on', () => {
  test.each(DEPENDENT.map((one) => [one.name, one] as const))('%s', async (_, one) => {
    const { findings, gaps } = await reproduceCase(one, helper);
    expect(gaps).toEqual([]);
    expect(findings.map(({ kind }) => kind).sort(), JSON.stringify(findings)).toEqual(one.kinds);
    for (const { fix, advice } of findings) expect(fix ?? advice).toBeDefined();
  });
});

describe('reproduce() finds nothing for', () => {
  test.each(INDEPENDENT.map((one) => [one.name, one] as const))('%s', async (_, one) => {
    const { findings, gaps, variations, runs } = await reproduceCase(one, helper);
    expect({ findings, gaps, runs }).toEqual({ findings: [], gaps: [], runs: 2 });
    expect(variations.map(({ outcome }) => outcome)).toEqual(variations.map(() => 'same'));
  });
});

test('a result that changes by itself is reported as random, not blamed on a variation', async () => {
  const counter = join(mkdtempSync(join(tmpdir(), 'assay-counter-')), 'runs');
  onTestFinished(() => rmSync(dirname(counter), { recursive: true }));
  // The first and the third run are without variations.
  const script = `echo >> ${counter}; case $(wc -l < ${counter}) in 1|3) echo a ;; *) echo b ;; esac > out`;
  const { findings } = await reproduceCase(
    { name: 'by chance', command: ['sh', '-c', script], kinds: [] },
    helper,
  );
  expect(findings).toMatchObject([
    { kind: 'random', detail: expect.stringContaining('something that Assay cannot hold') },
  ]);
});

test('the corpus has at least two actions of each kind', () => {
  const kinds = 'time random pid host cpu uid umask cwd mtime readdir-order env'.split(' ');
  const counts = kinds.map((kind) => DEPENDENT.filter((one) => one.kinds.includes(kind)).length);
  expect(counts.every((count) => count >= 2)).toBe(true);
});

test('reproduce() reports each run: the first varies nothing, the second everything, later ones less and less', async () => {
  const [one] = DEPENDENT;
  const begun: number[] = [];
  const begins = (number: number, varied: readonly string[]) => {
    expect(number).toBe(begun.length + 1);
    begun.push(varied.length);
  };
  const { runs } = await reproduceCase(one ?? expect.fail(), helper, begins);
  expect(begun).toHaveLength(runs);
  expect(begun.slice(0, 5)).toEqual([0, 14, 0, 7, 4]);
});
