// `assay doctor` in installations with one fault each: it names the fault, gives a remedy, and fails.
import { once } from 'node:events';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { LAYOUT_VERSION } from '../../../store/disk/fs/layout.ts';
import { type RunOptions, Workshop } from '../../../test/rig/assay.ts';
import { ServerProcess } from '../../../test/rig/server.ts';
import type { DoctorFinding } from '../finding.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
});
afterEach(() => shop.remove());

async function doctor(args: readonly string[] = [], options: RunOptions = {}) {
  const { code, stdout } = await shop.assay(['doctor', '--json', ...args], options);
  const page: { healthy: boolean; findings: DoctorFinding[] } = JSON.parse(stdout);
  const about = (subject: string) => page.findings.find((finding) => finding.subject === subject);
  return { code, healthy: page.healthy, about, ill: page.findings.filter(({ state }) => state === 'ill') };
}

test('doctor succeeds if everything works', async () => {
  await shop.run(['--output', 'out', '--', 'touch', 'out']);
  const { code, healthy, about, ill } = await doctor();
  expect(ill).toEqual([]);
  expect({ code, healthy }).toEqual({ code: 0, healthy: true });
  for (const subject of ['store', 'rights', 'disk', 'verify', 'clock', 'tracer', 'sandbox', 'remote'])
    expect(about(subject), subject).toBeDefined();
});

test('doctor prints the same for people', async () => {
  const { code, stdout } = await shop.assay(['doctor', '--remote', 'http://127.0.0.1:1']);
  expect(code).toBe(3);
  expect(stdout).toMatch(/^ok +store +\S+ does not exist yet/m);
  expect(stdout).toMatch(/^FAIL +remote +http:\/\/127\.0\.0\.1:1\/: .*\n +-> Check the address/m);
});

describe('doctor reports a store', () => {
  test('that everybody may write to', async () => {
    mkdirSync(shop.store);
    chmodSync(shop.store, 0o777);
    const { code, about } = await doctor();
    expect(code).toBe(3);
    expect(about('rights')).toMatchObject({ state: 'ill', mend: `chmod o-w ${shop.store}` });
  });

  test('of another version', async () => {
    mkdirSync(join(shop.store, 'v999'), { recursive: true });
    const { code, about } = await doctor();
    expect(code).toBe(3);
    expect(about('store')).toMatchObject({ state: 'ill', detail: expect.stringContaining('v999') });
  });

  test('whose index is not a database', async () => {
    mkdirSync(join(shop.store, LAYOUT_VERSION, 'index'), { recursive: true });
    writeFileSync(join(shop.store, LAYOUT_VERSION, 'index/data.mdb'), 'noise'.repeat(5000));
    expect((await doctor()).about('store')).toMatchObject({ state: 'ill' });
  });

  test('whose path is a file', async () => {
    writeFileSync(shop.store, '');
    expect((await doctor()).about('store')).toMatchObject({ state: 'ill' });
  });

  test('whose path is a link that leads nowhere', async () => {
    symlinkSync(shop.store, shop.store);
    expect((await doctor()).about('store')).toMatchObject({ state: 'ill' });
  });

  test('that belongs to another user and cannot be written', async () => {
    mkdirSync(shop.store);
    chmodSync(shop.folder, 0o755);
    const { code, stdout } = await shop.assayAsOrdinaryUser(['doctor', '--json']);
    expect(code).toBe(3);
    expect(stdout).toContain('"subject":"rights","state":"notice"');
    expect(stdout).toContain('"subject":"store","state":"ill"');
  });
});

test('doctor reports a missing temporary folder', async () => {
  const { about } = await doctor([], { env: { TMPDIR: join(shop.folder, 'nowhere') } });
  expect(about('temporary files')).toMatchObject({ state: 'ill', mend: expect.stringContaining('TMPDIR') });
});

describe('doctor reports a remote', () => {
  test('that answers, and one that refuses the token', async () => {
    const server = await ServerProcess.start(join(shop.folder, 'remote'), { env: { ASSAY_TOKEN: 'right' } });
    try {
      const asked = (token: string) => doctor(['--remote', server.url], { env: { ASSAY_TOKEN: token } });
      expect((await asked('right')).about('remote')).toMatchObject({
        detail: expect.stringContaining('answers in'),
      });
      expect((await asked('right')).about('token')).toMatchObject({
        state: 'well',
        detail: expect.stringMatching(/^root: the whole server; rights .*results:read/),
      });
      const { code, about } = await asked('wrong');
      expect(code).toBe(3);
      expect(about('remote')).toMatchObject({ state: 'ill', detail: expect.stringContaining('401') });
    } finally {
      await server.stop();
    }
  });

  test('whose address is invalid', async () => {
    const { code, about } = await doctor(['--remote', 'nowhere']);
    expect(code).toBe(3);
    expect(about('remote')).toMatchObject({ state: 'ill' });
  });
});

describe('doctor of a server', () => {
  async function served(
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const server = await ServerProcess.start(join(shop.folder, 'served'), { args, env });
    onTestFinished(() => server.kill());
    return server.url;
  }

  test('that works: its version, gRPC, its clock, and the figures for whom may see them', async () => {
    const env = { ASSAY_TOKEN: 'a-token-of-the-whole-server' };
    const url = await served([], env);
    const { code, about, ill } = await doctor(['--server', url], { env });
    expect({ code, ill }).toEqual({ code: 0, ill: [] });
    for (const subject of ['server', 'ready', 'clock', 'grpc', 'access', 'token', 'figures', 'damage'])
      expect(about(subject), subject).toMatchObject({ state: 'well' });
    expect(about('store')).toBeUndefined();
    expect(about('access')?.detail).toBe('requests without a token are refused');
    expect(about('figures')?.detail).toMatch(/^the store has \S+ \S+ of /);
    const without = await doctor(['--server', url]);
    expect(without.about('figures')?.detail).toContain('server:stats');
    expect(without.about('grpc')).toMatchObject({ state: 'well', detail: 'it arrives; a token is needed' });
  });

  test('that is none, or does not answer', async () => {
    const other = createServer((_, response) => response.end('<html>')).listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const found = await doctor(['--server', `http://127.0.0.1:${port}`]);
    expect(found.code).toBe(3);
    expect(found.about('server')).toMatchObject({
      state: 'ill',
      detail: expect.stringContaining('no Assay server'),
    });
    expect(found.about('grpc')).toMatchObject({ state: 'notice' });
    const away = await doctor(['--server', 'http://127.0.0.1:1']);
    expect([away.code, away.ill.map(({ subject }) => subject)]).toEqual([3, ['server']]);
    const { code, stderr } = await shop.assay([
      'doctor',
      '--server',
      'http://127.0.0.1:1',
      '--remote',
      'http://x',
    ]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--server checks a server alone')]);
  });
});
