// Real commands are shared: a hit on the second run, in a used clone, on another machine at the same path, and
// at another path unless an output holds the path.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { soak } from '../rig/soak.ts';
import { Machines } from './machines.ts';
import { ROWS } from './rows.ts';

/** Outside of the soak, these rows alone, and the others of WHOLE have all their tests. */
const USUAL = ['tsc', 'go build', 'cargo build', 'javac and jar'];
const WHOLE = ['a shell script', 'configure and make'];
const IS_SOAK = soak(20) > 1;

const SHOWN = ROWS.filter(({ name }) => IS_SOAK || USUAL.includes(name) || WHOLE.includes(name));

describe.each(SHOWN)('$name', (row) => {
  let machines: Machines;
  beforeAll(async () => {
    machines = await Machines.start(row);
  });
  afterAll(() => machines.end());

  const contents = (clone: string) =>
    Object.fromEntries(row.outputs.map((output) => [output, readFileSync(join(clone, output), 'base64')]));

  test('is shared after a cold run, and a hit everywhere', async () => {
    const clone = machines.clone('at/home');
    const cold = await machines.run('a', clone);
    expect(cold.code, cold.stderr).toBe(0);
    expect(cold.summary, cold.stderr).toMatchObject({ outcome: 'miss', published: true, shared: true });
    expect(['declared', 'observed']).toContain(cold.summary.status);
    const made = contents(clone);

    expect((await machines.run('a', clone)).summary.outcome).toBe('hit-local');
    for (const output of row.outputs) rmSync(join(clone, output), { recursive: true });
    expect((await machines.run('a', clone)).summary.outcome).toBe('hit-local');

    const elsewhere = machines.clone('at/home');
    expect((await machines.run('b', elsewhere)).summary).toMatchObject({ outcome: 'hit-remote' });
    expect(contents(elsewhere)).toEqual(made);

    const deeper = machines.clone('a/deeper/place/of/another/name');
    const moved = await machines.run('c', deeper);
    if (row.holdsPath) {
      expect(moved.summary.outcome).toBe('miss');
      expect(moved.summary.reason).toContain('workspace');
    } else {
      expect(moved.summary, moved.stderr).toMatchObject({ outcome: 'hit-remote' });
      expect(contents(deeper)).toEqual(made);
    }
  });

  if (!IS_SOAK && !WHOLE.includes(row.name)) return;

  test('is a hit in a clone in which somebody works', async () => {
    const used = machines.clone('at/home');
    await machines.use(used);
    const here = await machines.run('a', used);
    expect(here.summary.outcome, here.summary.reason).toBe('hit-local');
    await machines.use(used);
    const elsewhere = await machines.run('d', used);
    expect(elsewhere.summary.outcome, elsewhere.summary.reason).toBe('hit-remote');
  });

  test('from a used clone makes what a fresh clone makes, and is shared', async () => {
    const used = machines.clone('at/home');
    await machines.use(used);
    const [file, content] = row.edit;
    writeFileSync(join(used, file), content);
    const ran = await machines.run('e', used);
    expect(ran.summary, JSON.stringify(ran.summary)).toMatchObject({
      outcome: 'miss',
      published: true,
      shared: true,
    });
    const made = contents(used);
    const fresh = machines.clone('at/home');
    writeFileSync(join(fresh, file), content);
    const clean = await machines.run('f', fresh);
    expect(clean.summary.outcome, clean.summary.reason).toBe(row.showsCache ? 'miss' : 'hit-remote');
    if (row.showsCache) expect(clean.summary.reason).toMatch(/cache(?:__)? is gone/);
    expect(contents(fresh)).toEqual(made);
  });

  test('says at most three lines', async () => {
    const clone = machines.clone('at/home');
    writeFileSync(join(clone, row.edit[0]), `${row.edit[1]}\n`);
    const lines = await machines.said('g', clone);
    expect(lines.length, lines.join('\n')).toBeLessThanOrEqual(3);
  });
});
