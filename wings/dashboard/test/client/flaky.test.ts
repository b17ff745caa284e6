// A step that failed and passes with the same key is on the server's list, also if each run has an empty store. One
// whose observed file changed in between is not.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Workshop } from '../../../../test/rig/assay.ts';
import { identity, sourceOf } from '../../../../test/server/access/identities.ts';
import { ask } from '../../../../test/server/rig.ts';
import type { Trends } from '../../api/schemas/trends.ts';
import { testServer } from '../rig.ts';

const MAIN = identity('main', { namespace: 'acme/app/main' });

test('a command that failed and passes with its key is flaky, one that fails by another file is not', async () => {
  const server = await testServer({ identities: sourceOf(MAIN) });
  const shop = new Workshop();
  const outside = mkdtempSync(join(tmpdir(), 'assay-flaky-'));
  onTestFinished(() => {
    shop.remove();
    rmSync(outside, { recursive: true, force: true });
  });
  const [service, lock] = [join(outside, 'service'), join(outside, 'lock')];
  const inputs = ['in.txt'];
  /* The first waits for something that nobody declares. The second passes until a file that it looks for is there. */
  const steps = {
    flaky: { command: `test -e ${service} || exit 7; cat in.txt`, inputs },
    explained: { command: `test ! -e ${lock} || exit 5; cat in.txt`, inputs },
  };
  shop.write('in.txt', 'in');
  shop.write('assay.json', JSON.stringify({ steps }));
  let runs = 0;
  const run = async () => {
    const store = join(outside, `store-${runs++}`);
    mkdirSync(store);
    const env = { ASSAY_REMOTE: server.url, ASSAY_TOKEN: 'main', ASSAY_STORE: store };
    const { code } = await shop.assay(['run', '--keep-going', 'flaky', 'explained'], { env });
    const headers = { authorization: 'Bearer main' };
    const { body } = await ask(`${server.url}/api/v1/trends`, 'GET', { headers });
    const { flaky, weeks }: Trends = JSON.parse(body.toString());
    const { hits, misses, failed } = weeks.at(-1) ?? {};
    return { code, hits, misses, failed, flaky: flaky.map(({ step, failed: one }) => [step, one.exitCode]) };
  };
  expect(await run()).toEqual({ code: 7, hits: 0, misses: 1, failed: 1, flaky: [] });
  writeFileSync(service, '');
  writeFileSync(lock, '');
  expect(await run()).toEqual({ code: 5, hits: 0, misses: 2, failed: 2, flaky: [['flaky', 7]] });
});
