// `assay doctor` in installations with one fault each: it names the fault, gives a remedy, and fails.
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { VERSION } from '../../../store/disk/fs/layout.ts';
import { type RunOptions, Workshop } from '../../../test/rig/assay.ts';
import { ServerProcess } from '../../../test/rig/server.ts';
import type { Finding } from '../finding.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
});
afterEach(() => shop.remove());

async function doctor(args: readonly string[] = [], options: RunOptions = {}) {
  const { code, stdout } = await shop.assay(['doctor', '--json', ...args], options);
  const page: { healthy: boolean; findings: Finding[] } = JSON.parse(stdout);
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
    mkdirSync(join(shop.store, VERSION, 'index'), { recursive: true });
    writeFileSync(join(shop.store, VERSION, 'index/data.mdb'), 'noise'.repeat(5000));
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
