// Files of the client folder and of .git that are pipes: no command of the client waits for them.
import { execFileSync } from 'node:child_process';
import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Workshop } from '../../rig/assay.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
});
afterEach(() => shop.remove());

const bounded = (args: readonly string[]) => shop.assayIn(['timeout', '-s', 'KILL', '15'], args);

test('pipes in place of history, statistics and state hold up no command', async () => {
  shop.write('in', 'x');
  const steps = { copy: { command: 'cp in out', inputs: ['in'], outputs: ['out'] } };
  shop.write('assay.json', JSON.stringify({ steps }));
  for (let run = 0; run < 2; run++) expect((await shop.assay(['run', 'copy'])).code).toBe(0);
  const folder = join(shop.store, 'client');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((file) => statSync(file).isFile());
  expect(files.length).toBeGreaterThan(2);
  for (const file of files) {
    rmSync(file);
    execFileSync('mkfifo', [file]);
  }
  expect(await bounded(['run', 'copy'])).toMatchObject({ code: 0 });
  expect(await bounded(['stats'])).toMatchObject({ code: 0 });
  expect(await bounded(['explain'])).toMatchObject({ code: 2 });
});

test.each(['.git', '.git/HEAD'])('a pipe in place of %s does not hold up a run', async (path) => {
  execFileSync('mkdir', ['-p', join(shop.workspace, path, '..')]);
  execFileSync('mkfifo', [join(shop.workspace, path)]);
  expect(await bounded(['run', '--', 'echo', 'hi'])).toMatchObject({ code: 0, stdout: 'hi\n' });
});
