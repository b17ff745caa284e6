// Messages about a step: an unproven hit, a failure that is not the command's, a cached failure.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Workshop } from '../../rig/assay.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
  for (const name of ['in.txt', 'more.txt', 'third.txt']) shop.write(name, name);
});
afterEach(() => shop.remove());

const steps = (step: unknown) => shop.write('assay.json', JSON.stringify({ steps: { step } }));
const run = (env: Record<string, string> = {}) => shop.assay(['run', 'step'], { env });
const READS_TWO = { command: 'cat in.txt more.txt third.txt', inputs: ['in.txt'] };

test('an unproven hit reports that each time', async () => {
  steps({ command: 'echo beside > ../beside', inputs: [], keepUnproven: 'local' });
  expect((await run()).stderr).toContain('write ../beside');
  for (let time = 0; time < 2; time++)
    expect((await run()).stderr).toMatch(/step {2}hit \(local, unproven\)/);
});

test('a strict step that is not hermetic reports its undeclared accesses, not that its command failed', async () => {
  steps({ ...READS_TWO, hermetic: 'strict' });
  const { code, stderr } = await run();
  expect(code).toBe(3);
  for (const name of ['more.txt', 'third.txt']) expect(stderr).toContain(`not declared: read ${name}`);
  expect(stderr).toMatch(/step {2}failed [0-9a-f]{12}: the command succeeded but is not hermetic/);
  expect(stderr).not.toContain('failed with 3');
  const inCi = await run({ GITHUB_ACTIONS: 'true' });
  expect(inCi.stdout).toContain('::error title=step::the command succeeded but is not hermetic');
});

test('a command’s own exit code 3 is reported as its own', async () => {
  steps({ ...READS_TWO, hermetic: 'strict', command: 'exit 3' });
  expect((await run()).stderr).toMatch(/step {2}failed with 3/);
});

test('a refused step has a hint', async () => {
  steps({ command: 'true', inputs: ['nosuch.txt'] });
  const { code, stderr } = await run();
  expect(code).toBe(125);
  expect(stderr).toMatch(/failed: ASSAY_INPUT_MATCHES_NOTHING: "nosuch.txt".*\. [A-Z].*\./);
});

test('a cached failure is reported as cached', async () => {
  steps({ command: 'cat in.txt; exit 7', inputs: ['in.txt'], cacheFailures: true });
  expect((await run()).stderr).toMatch(/step {2}failed with 7 \S+ after/);
  const again = await run();
  expect(again.stderr).toMatch(/step {2}failed with 7 \S+, as it did before \(stored\)/);
  expect([again.code, again.stdout]).toEqual([7, 'in.txt\n']);
});
