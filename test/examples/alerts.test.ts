// The configuration and the alert rules of examples/monitoring, as they are but for addresses and pauses: Prometheus reads
// a server that is there, evaluates every rule, and fires where something is wrong.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { Workshop } from '../rig/assay.ts';
import { ServerProcess } from '../rig/server.ts';

const MONITORING = join(import.meta.dirname, '../../examples/monitoring');

/** More than the 100 refused writes of AssayDenied. */
const REFUSED = 150;
const WAIT_MS = 60_000;

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
});
afterEach(() => shop.remove());

interface Rule {
  readonly name: string;
  readonly health: string;
  readonly state: string;
  readonly lastError?: string;
}

test('Prometheus reads a server, evaluates every rule, and fires for refused writes alone', {
  timeout: 2 * WAIT_MS,
}, async () => {
  const monitor = await token('prometheus', '--namespace', 'monitoring', '--rights', 'server:stats');
  const reader = await token('reader', '--namespace', 'team', '--rights', 'read');
  const server = await ServerProcess.start(shop.store, { args: ['--tokens', tokensFile()] });
  onTestFinished(() => server.stop());
  const ask = await startPrometheus(new URL(server.url).host, monitor);

  await until(async () =>
    (await ask('query?query=up{job="assay"}')).result.some(({ value }) => value[1] === '1'),
  );
  // The first refusal makes the series, so that the others are an increase.
  await refusedWrites(server.url, reader, 1);
  await until(async () => (await ask('query?query=assay_denied_total')).result.length > 0);
  await refusedWrites(server.url, reader, REFUSED);
  const rules = async () => (await ask('rules')).groups.flatMap((group) => group.rules);
  const firing = async () =>
    (await rules()).filter(({ state }) => state === 'firing').map(({ name }) => name);
  await until(async () => (await firing()).length > 0);

  expect(await firing()).toEqual(['AssayDenied']);
  const evaluated = await rules();
  expect(evaluated.length).toBeGreaterThan(10);
  expect(evaluated.filter(({ health }) => health !== 'ok')).toEqual([]);
});

/** The data of an answer: of a query, or of the rules. */
interface Answer {
  readonly result: readonly { readonly value: readonly [time: number, value: string] }[];
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
}

type Ask = (path: string) => Promise<Answer>;

const tokensFile = () => join(shop.folder, 'tokens.json');

async function token(...args: string[]): Promise<string> {
  const { code, stdout } = await shop.assay(['token', 'create', ...args, '--tokens', tokensFile()]);
  expect(code).toBe(0);
  return stdout.trim();
}

async function startPrometheus(target: string, secret: string): Promise<Ask> {
  const token = join(shop.folder, 'token');
  writeFileSync(token, secret);
  cpSync(join(MONITORING, 'alerts.yml'), join(shop.folder, 'alerts.yml'));
  const config = readFileSync(join(MONITORING, 'prometheus.yml'), 'utf8')
    .replace('cache.example:8980', target)
    .replace('/etc/prometheus/assay-token', token);
  const pauses = 'global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }\n';
  writeFileSync(join(shop.folder, 'prometheus.yml'), pauses + config);
  const address = `127.0.0.1:${await freePort()}`;
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(shop.folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(shop.folder, 'prometheus')}`,
      `--web.listen-address=${address}`,
    ],
    { stdio: 'ignore' },
  );
  onTestFinished(async () => {
    child.kill();
    if (child.exitCode === null) await once(child, 'exit');
  });
  const ask: Ask = async (path) => {
    const answer = await fetch(`http://${address}/api/v1/${path}`);
    const { data }: { data: Answer } = JSON.parse(await answer.text());
    return data;
  };
  await until(() => ask('query?query=1').then(Boolean, () => false));
  return ask;
}

async function refusedWrites(url: string, secret: string, count: number): Promise<void> {
  const request = { method: 'PUT', body: 'x', headers: { authorization: `Bearer ${secret}` } };
  for (let sent = 0; sent < count; sent++) {
    const { status } = await fetch(`${url}/team/cas/${'0'.repeat(64)}`, request);
    expect(status).toBe(403);
  }
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + WAIT_MS; !(await holds()); await sleep(100))
    if (Date.now() > end) throw new Error(`it did not come true within ${WAIT_MS} ms: ${holds}`);
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
