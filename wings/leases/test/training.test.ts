// A training run with checkpoints that was stopped, lost its lease, and was woken after another machine had finished.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { addLayers } from '../../../store/open.ts';
import { Workshop } from '../../../test/rig/assay.ts';
import { Runner } from '../../../test/rig/runners/runner.ts';
import { soak } from '../../../test/rig/soak.ts';
import { memoryEngine } from '../../../test/rig/stores/memory/engine.ts';
import { testServer } from '../../../test/server/rig.ts';
import { leases } from '../part.ts';

/** Each is sealed. The run that is stopped must have taken longer than 2 s by then: before that it asks for no lease. */
const EPOCHS = soak(60, 14);
const IS_FULL = EPOCHS === 60;
const EPOCH_SECONDS = IS_FULL ? 1 : 0.5;
const STOPPED_AT = IS_FULL ? 20 : 6;

const TRAIN = [
  'n=$ASSAY_CHECKPOINT; [ -e state/n ] && n=$(cat state/n)',
  `while [ $n -lt ${EPOCHS} ]; do sleep ${EPOCH_SECONDS}; n=$((n + 1)); echo $n > state/n`,
  ': > $ASSAY_CHECKPOINT_DESK/r.request; while [ -e $ASSAY_CHECKPOINT_DESK/r.request ]; do sleep 0.05; done',
  'echo sealed $n.; done; cp state/n model',
].join('\n');

test(`a training run of ${EPOCHS} epochs that was stopped and woken after the second finished changes nothing of the second`, {
  timeout: 600_000,
}, async () => {
  const shop = new Workshop();
  onTestFinished(() => shop.remove());
  let aheadMs = 0;
  const engine = memoryEngine(new Map(), () => Date.now() + aheadMs);
  const { url } = await testServer({ wings: [leases()], store: addLayers(engine, () => {}) });
  const train = (name: string) => {
    const runner = new Runner({ name, below: shop.folder, remote: url });
    writeFileSync(join(runner.folder, 'train.sh'), TRAIN);
    const args = ['--input', 'train.sh', '--output', 'model', '--checkpoint', 'state'];
    return { ...runner.run(['--json', ...args, '--', 'sh', 'train.sh']), folder: runner.folder };
  };
  const labels = async (key: string) =>
    (await fetch(`${url}/labels/v1/checkpoint?${new URLSearchParams({ all: `${key}/` })}`)).text();

  const stopped = train('stopped');
  while (!stopped.said().includes(`sealed ${STOPPED_AT}.`)) await sleep(50);
  stopped.child.kill('SIGSTOP');
  // Its lease ends when its heartbeats stop. The full test waits for that, the usual one turns the server's clock.
  if (IS_FULL) await sleep(16_000);
  else aheadMs = 16_000;
  const second = train('second');
  const { code, said } = await second.ended;
  expect(code, said).toBe(0);
  expect(said).toContain('starting from checkpoint');
  const { key } = JSON.parse(said.trimEnd().split('\n').at(-1) ?? '');
  const before = await labels(key);
  // The newest was written under the fence of the second.
  expect(JSON.parse(before).labels[0].label).toMatch(new RegExp(`/\\d+\\.\\d+/${EPOCHS}$`));
  stopped.child.kill('SIGCONT');
  const woken = await stopped.ended;
  expect(woken.code, woken.said).toBe(0);
  expect(woken.said).toMatch(/has taken over the lease|has the lease of its action now/);
  expect(await labels(key)).toBe(before);
  expect(readFileSync(join(stopped.folder, 'model'), 'utf8')).toBe(`${EPOCHS}\n`);
});
