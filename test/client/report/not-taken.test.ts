// A server that takes no reports, because it is older or lacks the dashboard, is sent none.
import { expect, onTestFinished, test } from 'vitest';
import { RUNS_PATH } from '../../../core/metadata/run-report.ts';
import { Workshop } from '../../rig/assay.ts';
import { runSteps } from '../../rig/graph.ts';
import { ask, testServer } from '../../server/rig.ts';

test('a run shares its results, and nothing is posted or said', async () => {
  const shop = new Workshop();
  onTestFinished(() => shop.remove());
  shop.write('in.txt', 'input');
  const step = { command: 'cp in.txt out.txt', inputs: ['in.txt'], outputs: ['out.txt'] };
  shop.write('assay.json', JSON.stringify({ steps: { copy: step } }));
  let reports = 0;
  const { url } = await testServer({
    wings: [
      {
        async routes(app) {
          app.post(RUNS_PATH, { config: { isPublic: true } }, () => {
            reports++;
            return {};
          });
        },
      },
    ],
  });
  const ran = await runSteps(shop, ['copy'], { env: { ASSAY_REMOTE: url } });
  expect(ran).toMatchObject({ code: 0, outcomes: { copy: 'miss' } });
  expect(ran.summary.warnings).toEqual([]);
  expect(ran.stderr).not.toContain('/runs/');
  expect(reports).toBe(0);
  const metrics = (await ask(`${url}/metrics`)).body.toString();
  expect(metrics).toMatch(/assay_results_total\{tool="assay",namespace="",outcome="miss"\} [1-9]/);
});
