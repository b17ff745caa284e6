// The pages of a real server in Chromium: every figure on screen is what the test sent, and what happens while a
// page is open appears on it.
import { expect, test } from 'vitest';
import { digestOf } from '../../../../core/digest.ts';
import { MIB } from '../../../../core/units.ts';
import { openDiskFolder } from '../../../../test/rig/stores/disk-store.ts';
import { ask } from '../../../../test/server/rig.ts';
import { resultWith } from '../../../../test/store/content.ts';
import { miss, reportOf, step } from '../reports.ts';
import { testServer } from '../rig.ts';
import { browserForAll, type Visit } from './chromium.ts';

const browser = browserForAll();
const key = (name: string) => digestOf(Buffer.from(name)).hash;
const ccache = (digit: string) => `/ccache/team/75/${digit.repeat(30)}`;

/** As the one of a disk store, it needs its `this`. */
class Space {
  readonly limit = 10 * MIB;
  readonly #used = 1.5 * MIB;

  used(): number {
    return this.#used;
  }
}

async function textOf(page: Visit['page'], url: string): Promise<string> {
  await page.goto(url);
  return page.locator('main').innerText();
}

test('figures on screen are those that the test counted', async () => {
  const server = await testServer({ store: openDiskFolder, space: new Space() });
  const put = (path: string, body: Buffer) => ask(server.url + path, 'PUT', { body });
  const get = (path: string) => ask(server.url + path);
  await put(`/ac/${key('a')}`, resultWith({}));
  await put(ccache('1'), Buffer.from('an object'));
  for (let hit = 0; hit < 5; hit++) await get(ccache('1'));
  for (const digit of ['2', '3']) await get(ccache(digit));
  await get(`/ac/${key('a')}`);
  const report = reportOf([
    step('lint', { commandMs: 61_010, status: 'declared' }),
    { ...miss('compile', { kind: 'variable', name: 'BUILD_ID' }, 125_000), why: 'BUILD_ID differs' },
  ]);
  const body = Buffer.from(JSON.stringify(report));
  expect((await ask(`${server.url}/api/v1/runs`, 'POST', { body })).status).toBe(201);

  const { page, complaints } = await browser.visit();
  const now = await textOf(page, server.url);
  expect(now).toContain('6 hits of 8 lookups');
  expect(now).toMatch(/Hit rate today\s+75 %/);
  expect(now).toMatch(/Time saved today\s+1 min 1 s\s+in 1 run/);
  expect(await page.locator('[data-tail] tbody tr').count()).toBe(10);
  expect(await page.locator('.uplot canvas').count()).toBe(1);

  expect(await textOf(page, `${server.url}/runs`)).toContain('1 hit, 1 ran');
  await page.getByRole('link', { name: 'lint, compile' }).click();
  const run = await page.locator('main').innerText();
  for (const text of ['1 of 2', 'compile', 'BUILD_ID differs', 'saved 1 min 1 s'])
    expect(run).toContain(text);

  await page.goto(`${server.url}/runs`);
  await page.getByLabel('Run or action').fill(` ${report.id} `);
  await page.getByRole('button', { name: 'Open' }).click();
  expect(new URL(page.url()).pathname).toBe(`/runs/${report.id}`);

  const misses = await textOf(page, `${server.url}/misses`);
  expect(misses).toMatch(/Lost\s+2 min 5 s\s+in 1 miss of 1 run/);
  expect(misses).toContain('BUILD_ID');
  const storage = await textOf(page, `${server.url}/storage`);
  expect(storage).toMatch(/In the store\s+1\.5 MiB\s+15 % of 10\.0 MiB/);
  expect(storage).toMatch(/ccache\s+1\s+\d+ B/);
  expect(await textOf(page, `${server.url}/hermeticity`)).toMatch(/1 declared.*No key has two results\./s);

  const setup = await textOf(page, `${server.url}/setup?team=web`);
  expect(setup).toContain(`export CCACHE_REMOTE_STORAGE=${server.url}/ccache/web`);
  expect(await page.locator('[data-tool="ccache"]').innerText()).toContain('Connected: 7 lookups today');
  const gradle = page.locator('[data-tool="Gradle"]');
  expect(await gradle.innerText()).toBe('Waiting for the first request');
  await get(`/gradle/web/${'a'.repeat(32)}`);
  await page.locator('[data-tool="Gradle"].on').waitFor();

  await page.goto(server.url);
  const rows = page.locator('[data-tail] tbody tr');
  await rows.first().evaluate((row) => row.setAttribute('data-old', ''));
  await get(ccache('4'));
  await page.locator('[data-tail] tbody tr:first-child:not([data-old])').waitFor();
  expect(await rows.count()).toBe(10);
  expect(complaints).toEqual([]);
});
