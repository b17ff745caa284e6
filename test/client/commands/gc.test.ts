import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDiskStore } from '../../../store/open.ts';
import { Workshop } from '../../rig/assay.ts';
import { addressOf, contentOf, putOne, resultNaming } from '../../store/content.ts';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
});

afterEach(() => shop.remove());

const gc = (...args: string[]) => shop.assay(['gc', '--store', shop.store, ...args]);
const reportOf = ({ stdout }: { stdout: string }) => JSON.parse(stdout);

/** Results last used two hours ago, by the machine's clock. */
async function fill(): Promise<void> {
  const { uptimeClock } = await import('../../../system/process/uptime.ts');
  const real = uptimeClock();
  let passed = 0;
  const clock = { name: real.name, now: () => real.now() - 2 * 3_600_000 + passed };
  const store = await openDiskStore({ directory: shop.store, clock });
  for (const name of ['1', '2', '3', '4']) {
    await store.results.put(addressOf(name), resultNaming(await putOne(store, contentOf(name, 1_000_000))));
    passed += 30_000;
  }
  await store.close();
}

test('gc evicts unleased blobs beyond the limit, while other processes have the store open', async () => {
  await fill();
  const store = await openDiskStore({ directory: shop.store });
  const dry = await gc('--dry-run', '--max-size', '2.5MB', '--lease', '1h', '--json');
  expect(dry.code).toBe(0);
  expect(reportOf(dry)).toMatchObject({ dryRun: true, blobs: 2, limit: 2_500_000 });
  const done = await gc('--max-size', '2.5MB', '--lease', '1h', '--json');
  expect(done.code).toBe(0);
  expect(reportOf(done)).toMatchObject({ dryRun: false, blobs: 2, bytes: 2 * 1_003_520 });
  expect(reportOf(done).after).toBeLessThanOrEqual(2_500_000);
  const hits = await Promise.all(['1', '2', '3', '4'].map((name) => store.results.get(addressOf(name))));
  expect(hits.map(Boolean)).toEqual([false, false, true, true]);
  await store.close();
});

test('gc keeps leased blobs, reports that, and exits with 1', async () => {
  await fill();
  const { code, stdout } = await gc('--max-size', '1MB');
  expect(code).toBe(1);
  expect(stdout).toMatch(/removed 0 results and 0 blobs: .* limit 976\.6 KiB; the rest is in use/);
});

test('gc uses the singular for one, and the usual units for sizes', async () => {
  await fill();
  const { stdout } = await gc('--dry-run', '--max-size', '3.5MB', '--lease', '1s');
  expect(stdout).toMatch(/would remove 1 result and 1 blob: 3\.\d MiB -> [23]\.\d MiB, limit 3\.3 MiB\n$/);
});

test.each([
  [['--max-size', 'much'], '--max-size takes a size such as 50GB'],
  [['--max-size', '101%'], '--max-size takes a size such as 50GB'],
  [['--max-size', '0'], '--max-size takes a size such as 50GB'],
  [['--lease', '3'], '--lease takes a time such as 90s'],
  [['all'], 'assay gc takes no arguments'],
])('gc refuses %s', async (args, words) => {
  const { code, stderr } = await gc(...args);
  expect(code).toBe(2);
  expect(stderr).toContain(words);
});

test('a local store stays within ASSAY_MAX_SIZE, and a run without free space still succeeds', async () => {
  shop.write('in.txt', 'x');
  const run = await shop.run(
    ['--input', 'in.txt', '--output', 'out', '--', 'sh', '-c', 'head -c 3000000 /dev/urandom > out'],
    { env: { ASSAY_MAX_SIZE: '1MB' } },
  );
  expect(run.code).toBe(0);
  expect(run.summary).toMatchObject({ outcome: 'miss', published: false });
  expect(run.summary.notPublished ?? run.stderr).toContain('ASSAY_TOO_LARGE');
});
