// The load balancer of examples/fleet, in front of two servers: HAProxy with the configuration that users are given.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { freePort } from './own-postgres.ts';

const CONFIGURATION = join(import.meta.dirname, '../../../../examples/fleet/haproxy.cfg');

/** The address of a balancer that leads to both. It ends with the test. */
export async function startBalancer(one: string, two: string): Promise<string> {
  for (;;) {
    const port = await freePort();
    const env = {
      ...process.env,
      BALANCER_PORT: String(port),
      ONE_PORT: new URL(one).port,
      TWO_PORT: new URL(two).port,
      PATH: `${process.env.PATH}:/usr/sbin`,
    };
    const balancer = spawn('haproxy', ['-db', '-f', CONFIGURATION], { env, stdio: 'ignore' });
    const ended = once(balancer, 'close');
    onTestFinished(async () => {
      balancer.kill('SIGKILL');
      await ended;
    });
    const url = `http://127.0.0.1:${port}`;
    if (await isReady(url, balancer)) return url;
  }
}

/** False if another process took the port first. */
async function isReady(url: string, balancer: ChildProcess): Promise<boolean> {
  while (balancer.exitCode === null) {
    const answer = await fetch(`${url}/readyz`).catch(() => undefined);
    if (answer?.ok) return true;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return false;
}
