// The agent of examples/agent is killed at several moments and started again.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Workshop } from '../../../test/rig/assay.ts';
import { soak } from '../../../test/rig/soak.ts';

const PROJECT = join(import.meta.dirname, '../../..');
const KILLS = soak(20, 3);
const HUNG_MS = 600_000;

interface Place {
  readonly shop: Workshop;
  readonly folder: string;
  readonly log: string;
}

function place(): Place {
  const shop = new Workshop();
  const folder = join(shop.workspace, 'agent');
  cpSync(join(PROJECT, 'examples/agent'), folder, { recursive: true });
  mkdirSync(join(folder, 'node_modules'), { recursive: true });
  if (!existsSync(join(folder, 'node_modules/assay')))
    symlinkSync(PROJECT, join(folder, 'node_modules/assay'));
  return { shop, folder, log: join(shop.folder, 'log') };
}

/** Killed after so long, with all that it started. Resolves to its exit code, null if it was killed. */
async function runAgent({ shop, folder, log }: Place, killAfterMs?: number): Promise<number | null> {
  const env = { ...process.env, ASSAY_STORE: shop.store, AGENT_LOG: log };
  const child = spawn(process.execPath, ['agent.ts'], { cwd: folder, env, detached: true, stdio: 'ignore' });
  const ended = once(child, 'close');
  if (killAfterMs !== undefined) {
    await Promise.race([sleep(killAfterMs), ended]);
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  }
  await ended;
  return child.exitCode;
}

const lines = ({ log }: Place) => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []);

const files = ({ folder }: Place) =>
  ['src/greeting.txt', 'dist/greeting.txt'].map((name) => readFileSync(join(folder, name), 'utf8'));

test(`killed at ${KILLS} moments, it ends with the same files and asks nothing again that was answered`, {
  timeout: HUNG_MS,
}, async () => {
  const whole = place();
  const began = performance.now();
  expect(await runAgent(whole)).toBe(0);
  const tookMs = performance.now() - began;
  expect(lines(whole)).toEqual(['asked 1', 'answered 1', 'asked 2', 'answered 2']);
  expect(files(whole)).toEqual(['hello, world!\n', 'HELLO, WORLD!\n']);
  for (let kill = 1; kill <= KILLS; kill++) {
    const killed = place();
    await runAgent(killed, (tookMs * kill) / (KILLS + 1));
    const before = lines(killed);
    expect(await runAgent(killed), `kill ${kill}`).toBe(0);
    expect(files(killed), `kill ${kill}`).toEqual(files(whole));
    const answered = before.filter((line) => line.startsWith('answered'));
    const after = lines(killed).slice(before.length);
    for (const line of answered)
      expect(after, `kill ${kill}`).not.toContain(line.replace('answered', 'asked'));
    killed.shop.remove();
  }
  whole.shop.remove();
});
