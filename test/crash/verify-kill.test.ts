// kill -9 of `assay verify` at seeded moments, on a store with damage. No kill loses or invents damage, a
// damaged blob is never served again, and the next verify continues until it has read the whole store.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { digestOf } from '../../core/digest.ts';
import { LAYOUT_VERSION } from '../../store/disk/fs/layout.ts';
import { openDiskStore } from '../../store/open.ts';
import { baseEnvironment, FORMS, Workshop } from '../rig/assay.ts';
import { keepFigures } from '../rig/figures.ts';
import { Random } from '../rig/random.ts';
import { soak } from '../rig/soak.ts';
import { contentOf, readFrom } from '../store/content.ts';

const SEED = Number(process.env.ASSAY_TEST_SEED ?? 20_261_115);
const KILLS = soak(20, 5);
const BLOBS = 120;
const DAMAGED = 12;

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
});
afterEach(() => shop.remove());

test(`after ${KILLS} kills of verify all damage is found, and nothing else (seed ${SEED})`, {
  timeout: 300_000,
}, async () => {
  const random = new Random(SEED);
  const blobs = Array.from({ length: BLOBS }, (_, number) => contentOf(`verify ${number}`, 70_000));
  const store = await openDiskStore({ directory: shop.store });
  for (const bytes of blobs) await store.blobs.put(digestOf(bytes), bytes);
  await store.close();
  const harmed = new Set(random.shuffled(blobs).slice(0, DAMAGED));
  for (const bytes of harmed) harm(digestOf(bytes).hash);

  let killed = 0;
  for (let kill = 0; kill < KILLS; kill++) if (await verifyKilled(random.below(400))) killed++;
  const { code } = await shop.assay(['verify'], { form: 'bundle' });
  expect([0, 3]).toContain(code);
  expect((await shop.assay(['verify', '--anew'], { form: 'bundle' })).code).toBe(0);

  const after = await openDiskStore({ directory: shop.store });
  for (const bytes of blobs) {
    const found = await readFrom(after, digestOf(bytes));
    expect(found?.equals(bytes) ?? false).toBe(!harmed.has(bytes));
  }
  await after.close();
  expect(killed).toBeGreaterThan(0);
  keepFigures('verify-kill', {
    kills: KILLS,
    'of them in the middle': killed,
    'damaged blobs': DAMAGED,
    quarantined: DAMAGED,
    'whole blobs lost': 0,
    seed: SEED,
  });
});

async function verifyKilled(afterMs: number): Promise<boolean> {
  const [program, ...before] = FORMS.bundle;
  const child = spawn(program, [...before, 'verify', '--store', shop.store, '--rate', '20'], {
    env: baseEnvironment(),
    stdio: 'ignore',
  });
  const ended = once(child, 'exit');
  await wait(afterMs);
  child.kill('SIGKILL');
  await ended;
  return child.signalCode === 'SIGKILL';
}

function harm(hash: string): void {
  const files = join(shop.store, LAYOUT_VERSION, 'files', hash.slice(0, 2));
  const name = readdirSync(files).find((one) => one.startsWith(hash)) ?? '';
  const file = openSync(join(files, name), 'r+');
  writeSync(file, 'X', 4321);
  closeSync(file);
}
