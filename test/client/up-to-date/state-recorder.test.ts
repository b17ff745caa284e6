// What StateRecorder records of a step whose facts were compared for an earlier step of the same run.
import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { requestOf } from '../../../client/config/request.ts';
import { openWorkspace } from '../../../client/graph/opened-workspace.ts';
import { SystemFileMemo } from '../../../client/path-sets/system-file-memo.ts';
import { openCache } from '../../../client/run/caches.ts';
import type { Hit } from '../../../client/run/hit.ts';
import { keyAction } from '../../../client/run/key.ts';
import { StateRecorder } from '../../../client/up-to-date/state-recorder.ts';
import { parseHash } from '../../../core/digest.ts';
import { absPath } from '../../../system/paths/absolute-path.ts';
import { Workshop } from '../../rig/assay.ts';
import { settled } from '../../rig/waiting.ts';

const HASH = parseHash('a'.repeat(64));
const NOTHING = Buffer.alloc(0);
const silent = { write() {} };

let shop: Workshop;
let outside: string;
let tool: string;

beforeEach(async () => {
  shop = new Workshop();
  const step = { command: 'mytool made', inputs: ['in'], outputs: ['made'], tools: ['mytool'] };
  shop.write('assay.json', JSON.stringify({ steps: { build: step } }));
  shop.write('in', '');
  tool = shop.write('mytool', '#!/bin/sh\ntouch "$1"\n', 0o755, shop.another('bin'));
  outside = shop.write('library', 'content', 0o644, shop.folder);
  await settled(outside);
});
afterEach(() => shop.remove());

/** Whether the step is recorded. `meanwhile`: after its facts and its tool were looked at for another step. */
async function isRecorded(meanwhile: () => void): Promise<boolean> {
  const caller = { PATH: `${join(shop.folder, 'bin')}:${process.env.PATH}` };
  let skewMs = 0;
  const now = () => Date.now() + skewMs;
  const opened = await openWorkspace(shop.workspace, shop.store, caller);
  const step = opened.steps.get('build');
  if (!step) throw new Error('there is no step');
  const recorder = new StateRecorder({ ...opened, storeFolder: shop.store, caller });
  const systemFiles = new SystemFileMemo(now);
  const { workspace, store: storeFolder } = shop;
  const cache = openCache({ storeFolder, workspace, now, report() {}, skipsScanMemo: true, systemFiles });
  const request = requestOf(step, opened, caller, cache.tools);
  const context = { cache, caller, stdout: silent, stderr: silent, report() {}, now };
  const observed = absPath(outside);
  systemFiles.state(observed, () => 'file of the earlier content');
  keyAction(request, context);
  meanwhile();
  // The step itself is looked at a minute later.
  skewMs = 60_000;
  const beganAt = now();
  const action = keyAction(request, context);
  const hit: Hit = {
    outcome: 'hit-local',
    reason: '',
    address: HASH,
    result: HASH,
    outputs: [],
    log: { stdout: NOTHING, stderr: NOTHING, order: [] },
    exitCode: 0,
    commandMs: 1,
    status: 'declared',
    setCheck: () => ({ paths: [observed], properties: [] }),
  };
  cache.inPlace.record(action, hit, beganAt);
  recorder.record(step, action, cache, beganAt);
  recorder.save();
  const { state } = await openWorkspace(shop.workspace, shop.store, caller);
  return state?.lookup({ id: step.id, variables: () => '' }) !== undefined;
}

test('a step whose facts are older than the run is recorded', async () => {
  expect(await isRecorded(() => {})).toBe(true);
});

test('a fact that changed since another step compared it is not', async () => {
  expect(await isRecorded(() => writeFileSync(outside, 'CONTENT'))).toBe(false);
});

test('a tool whose stats were not settled when another step looked at it is not', async () => {
  const soon = new Date(Date.now() + 30_000);
  utimesSync(tool, soon, soon);
  expect(await isRecorded(() => {})).toBe(false);
});
