// A workspace in which no folder can be made, such as one in /proc: the command runs, and nothing hangs.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Workshop } from '../../rig/assay.ts';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
});

afterEach(() => shop.remove());

test.each([
  ['an output', ['--output', 'out']],
  ['an output in a folder that does not exist', ['--output', 'a/b/out']],
  ['an output, and no tracer', ['--output', 'out', '--hermetic=off']],
])('a run with %s in /proc runs its command and publishes nothing', async (_name, flags) => {
  const ran = await shop.run([...flags, '--', 'echo', 'it ran'], { cwd: '/proc' });
  expect(ran).toMatchObject({ code: 0, stdout: 'it ran\n', summary: { outcome: 'miss', published: false } });
});

test('a checkpoint folder in /proc ends the run, with the reason', async () => {
  const flags = ['--output', 'out', '--checkpoint', 'state'];
  const ran = await shop.assay(['run', ...flags, '--', 'echo', 'it ran'], { cwd: '/proc' });
  expect(ran).toMatchObject({ code: 125, stdout: '' });
  expect(ran.stderr).toContain('ASSAY_OUTPUT_UNFIT: the checkpoint folder state cannot be made');
});

test('a summary file in /proc is refused before anything runs', async () => {
  shop.write('assay.json', '{ "steps": { "build": { "command": "touch out", "outputs": ["out"] } } }');
  const ran = await shop.assay(['run', '--summary', '/proc/none/summary.json', 'build']);
  expect(ran).toMatchObject({ code: 125, stdout: '' });
  expect(ran.stderr).toContain('--summary /proc/none/summary.json can’t be written');
  expect(shop.has('out')).toBe(false);
});
