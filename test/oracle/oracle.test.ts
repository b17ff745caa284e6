// A part of the oracle in `npm test`: the same cases every time. `npm run test:oracle` runs others, for as long as one likes.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ServerProcess } from '../rig/server.ts';
import { soak } from '../rig/soak.ts';
import { runCase } from './case.ts';
import { SERVER } from './clone.ts';
import { planOf } from './plan.ts';
import { textOf } from './text.ts';

const SEEDS = Array.from({ length: soak(30, 8) }, (_, index) => index + 1);

const store = mkdtempSync(join(tmpdir(), 'oracle-server-'));
let server: ServerProcess;
beforeAll(async () => {
  server = await ServerProcess.start(store, { program: SERVER });
});
afterAll(async () => {
  await server.stop();
  rmSync(store, { recursive: true, force: true });
});

test.each(SEEDS)('every run equals the same commands in a clean copy (seed %i)', async (seed) => {
  const plan = planOf(seed);
  const report = await runCase(plan, server.url);
  expect(report.differences, textOf(plan, report)).toEqual([]);
});
