// The run after a complete run is all hits: in place, and in the same order restored and in another clone. What a step sees is defined as the
// checkout and the outputs of its dependencies, so outputs of other steps may appear beside it at any time.
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Workshop } from '../../rig/assay.ts';
import { runSteps } from '../../rig/graph.ts';

let shop: Workshop;

const PACKAGES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

beforeEach(() => {
  shop = new Workshop();
  shop.write('.gitignore', 'dist\n');
  for (const name of PACKAGES) shop.write(`packages/${name}/src/main`, name);
  const steps = PACKAGES.map((name) => {
    const folder = `packages/${name}`;
    // Lists its siblings, and looks for outputs of others, as bundlers do.
    const look = `ls packages/*/ >/dev/null; for p in ${PACKAGES.join(' ')}; do test -e packages/$p/dist/other; done`;
    return [
      `build-${name}`,
      {
        command: `${look}; mkdir -p ${folder}/dist && cp ${folder}/src/main ${folder}/dist/main`,
        inputs: [`${folder}/src/**`],
        outputs: [`${folder}/dist/main`],
      },
    ] as const;
  });
  shop.write('assay.json', JSON.stringify({ steps: Object.fromEntries(steps) }));
});

afterEach(() => shop.remove());

async function outcomes(jobs: number, cwd: string): Promise<string[]> {
  const ran = await runSteps(shop, ['--jobs', String(jobs), ...PACKAGES.map((name) => `build-${name}`)], {
    cwd,
  });
  return Object.values(ran.outcomes);
}

test.each([1, 8])('with %i jobs', async (jobs) => {
  const clone = join(shop.folder, 'clone');
  cpSync(shop.workspace, clone, { recursive: true });
  const all = (outcome: string) => PACKAGES.map(() => outcome);
  expect(await outcomes(jobs, shop.workspace)).toEqual(all('miss'));
  expect(await outcomes(jobs, shop.workspace)).toEqual(all('hit-local'));
  if (jobs > 1) return;
  // A step that was shown an output of another one counts it. So only a run in order needs nothing again here.
  for (const name of PACKAGES) rmSync(join(shop.workspace, `packages/${name}/dist`), { recursive: true });
  expect(await outcomes(jobs, shop.workspace)).toEqual(all('hit-local'));
  expect(await outcomes(jobs, clone)).toEqual(all('hit-local'));
});

test('a file beside the output of another step', async () => {
  expect(new Set(await outcomes(1, shop.workspace))).toEqual(new Set(['miss']));
  for (const name of PACKAGES) rmSync(join(shop.workspace, `packages/${name}/dist`), { recursive: true });
  shop.write('packages/h/dist/extra', '');
  expect((await outcomes(1, shop.workspace))[0]).toBe('miss');
});
