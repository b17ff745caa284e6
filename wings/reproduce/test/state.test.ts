// `assay reproduce` checks a tool's guarantee: with the state of an earlier run it gives the result of a
// clean run.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Workshop } from '../../../test/rig/assay.ts';

const HONEST = ['mkdir -p cache', 'cp src out', 'date +%N > cache/at'];
/** A compiler whose first source stays in all later outputs. */
const STICKY = [...HONEST, '[ -e cache/first ] || cp src cache/first', 'cat cache/first >> out'];
/** A compiler that counts its runs in its state. */
const COUNTING = [...HONEST, 'echo x >> cache/count', 'cat cache/count >> out'];

const ACTION = ['--input', 'src', '--input', 'compile.sh', '--output', 'out', '--state', 'cache'];
const COMMAND = ['--', 'sh', 'compile.sh'];

interface Report {
  readonly reproducible: boolean;
  readonly findings: readonly { kind: string; path?: string; detail: string }[];
  readonly variations: readonly { name: string; outcome: string; what: string }[];
}

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
});

afterEach(() => shop.remove());

async function reproduce(script: readonly string[], earlier: readonly string[]): Promise<Report> {
  shop.script('compile.sh', ...script);
  for (const src of earlier) {
    shop.write('src', src);
    expect((await shop.run([...ACTION, ...COMMAND])).code).toBe(0);
  }
  rmSync(join(shop.workspace, 'cache'), { recursive: true, force: true });
  shop.write('src', 'last');
  const ran = await shop.assay(['reproduce', '--json', ...ACTION, ...COMMAND]);
  const report: Report = JSON.parse(ran.stdout);
  expect(ran.code, ran.stderr).toBe(report.reproducible ? 0 : 3);
  expect(shop.has('cache'), 'the workspace stays as it is').toBe(false);
  return report;
}

const stateIn = ({ variations }: Report) => variations.find(({ name }) => name === 'state');

test('a compiler whose state does not affect its output is reproducible', async () => {
  const report = await reproduce(HONEST, ['first']);
  expect(report.findings).toEqual([]);
  expect(stateIn(report)).toMatchObject({ outcome: 'same', what: 'the state of an earlier run' });
});

test('a compiler whose earlier state affects its output is reported', async () => {
  const report = await reproduce(STICKY, ['first']);
  expect(report.findings).toMatchObject([{ kind: 'stale-output', path: 'out' }]);
  expect(report.findings[0]?.detail).toContain('it depends on the state of an earlier run');
  expect(stateIn(report)?.outcome).toBe('differs');
});

test('without an earlier state, reproduce uses the state of its own clean run', async () => {
  const report = await reproduce(COUNTING, []);
  expect(report.findings).toMatchObject([{ kind: 'stale-output', path: 'out' }]);
  expect(report.findings[0]?.detail).toContain('the state that a clean run leaves');
});
