// A build without the wing for state and checkpoints: a step with state runs and says so, checkpoints are refused.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ActionDeclaration } from '../../../client/action/declaration.ts';
import { requestFor } from '../../../client/action/declaration.ts';
import { audit } from '../../../client/audit/audit.ts';
import { runWith } from '../../../client/library/library.ts';
import { openCache } from '../../../client/run/caches.ts';
import { execute } from '../../../client/run/execute.ts';
import type { StepHook } from '../../../client/run/step-hook.ts';
import type { RunEvent } from '../../../client/terminal/events.ts';
import { Workshop } from '../../rig/assay.ts';

let shop: Workshop;
let events: RunEvent[];

beforeEach(() => {
  shop = new Workshop();
  shop.write('src', 'one');
  events = [];
});

afterEach(() => shop.remove());

/** Its output shows the state that the command found, and it leaves some. */
const SCRIPT = 'mkdir -p cache; cat src cache/* > out 2>/dev/null; cp src cache/seen';

const action = (more: Partial<ActionDeclaration>): ActionDeclaration => ({
  command: ['sh', '-c', SCRIPT],
  inputs: ['src'],
  outputs: ['out'],
  workspace: shop.workspace,
  ...more,
});

const run = (more: Partial<ActionDeclaration>, hooks = runWith(async () => ({}))) =>
  hooks(action(more), { store: shop.store, report: (event) => events.push(event) });

const out = () => readFileSync(join(shop.workspace, 'out'), 'utf8');

test('a step with state runs, its clean result is kept, and the run says that its state is not', async () => {
  expect(await run({ state: ['cache'] })).toMatchObject({ outcome: 'miss', exitCode: 0, published: true });
  expect(events).toContainEqual({ type: 'state-not-kept', why: 'this build of Assay has no wing for it' });
  events = [];
  expect(await run({ state: ['cache'] })).toMatchObject({ outcome: 'hit-local' });
  expect(events).toEqual([]);
});

test('a result that was made with leftover state is not kept', async () => {
  await run({ state: ['cache'] });
  shop.write('src', 'two');
  const second = await run({ state: ['cache'] });
  expect(out()).toBe('twoone');
  expect(second).toMatchObject({ exitCode: 0, published: false, status: 'unproven' });
  expect(second.notPublished).toContain('the state that lay in the workspace');
});

test('a strict run sets the state aside and keeps its result', async () => {
  await run({ state: ['cache'] });
  shop.write('src', 'two');
  expect(await run({ state: ['cache'], hermetic: 'strict' })).toMatchObject({ published: true });
  expect(out()).toBe('two');
});

test('checkpoints are refused before the command runs, and a hit needs none', async () => {
  const checkpoint = { checkpoint: { folders: ['progress'] } };
  await expect(run(checkpoint)).rejects.toMatchObject({
    code: 'ASSAY_NOT_IN_BUILD',
    detail: 'checkpoints: this build of Assay has no wing for it',
  });
  expect(existsSync(join(shop.workspace, 'out'))).toBe(false);
  const around: StepHook['around'] = async (...given) => ({
    execute: () => execute(...given),
    async finish() {},
  });
  const wing = async () => ({ around });
  expect(await run(checkpoint, runWith(wing))).toMatchObject({ outcome: 'miss', published: true });
  rmSync(join(shop.workspace, 'out'));
  expect(await run(checkpoint)).toMatchObject({ outcome: 'hit-local' });
});

test('an audit with second runs is refused before its command runs', async () => {
  const request = requestFor(action({}));
  const report = () => undefined;
  const { store: storeFolder, workspace } = shop;
  const cache = openCache({ storeFolder, workspace, now: Date.now, report });
  const quiet = { write() {} };
  const context = { cache, caller: process.env, stdout: quiet, stderr: quiet, report, now: Date.now };
  await expect(audit(request, context, { reproduce: true })).rejects.toMatchObject({
    code: 'ASSAY_NOT_IN_BUILD',
  });
  await cache.close();
  expect(existsSync(join(shop.workspace, 'out'))).toBe(false);
});
