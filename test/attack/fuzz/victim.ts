// The server under attack, and the measurements of its memory and file descriptors.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { request as ask } from 'undici';
import { onTestFinished } from 'vitest';
import { Workshop } from '../../rig/assay.ts';
import { ServerProcess } from '../../rig/server.ts';

/** Starts a server that stops when the test is finished. */
export async function startVictim(): Promise<ServerProcess> {
  const shop = new Workshop();
  const server = await ServerProcess.start(shop.store, {
    args: ['--max-blob', '65536', '--log-level', 'warn'],
    env: { NODE_OPTIONS: `--require ${join(import.meta.dirname, 'tidy-on-signal.cjs')}` },
  });
  onTestFinished(async () => {
    await server.stop();
    shop.remove();
  });
  return server;
}

/** The live JavaScript heap and buffers, after garbage collection. */
export async function keptBytes({ child, url }: ServerProcess): Promise<number> {
  // Collect more than once: the memory of a buffer is freed after the buffer object.
  for (let time = 0; time < 4; time++) {
    child.kill('SIGUSR2');
    await (await ask(`${url}/healthz`)).body.dump();
    await delay(50);
  }
  const metrics = await (await ask(`${url}/metrics`)).body.text();
  const bytes = (name: string) => Number(new RegExp(`^nodejs_${name}_bytes (\\d+)`, 'm').exec(metrics)?.[1]);
  return bytes('heap_size_used') + bytes('external_memory');
}

/** The resident memory of the process without mapped files such as the index. The allocator frees late. */
export function anonymousBytes({ child }: ServerProcess): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  return Number(/RssAnon:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}

export function openFiles({ child }: ServerProcess): number {
  return readdirSync(`/proc/${child.pid}/fd`).length;
}

export async function settled(isSo: () => boolean): Promise<void> {
  for (const end = Date.now() + 10_000; !isSo(); await delay(50)) {
    if (Date.now() > end) throw new Error('file handles stayed open');
  }
}
