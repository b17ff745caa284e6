// A server that people mistreat: names with markup and control characters in every field of many reports of a pull
// request, a store that takes nothing more, and a package that lost a file. Every page still answers, and shows what
// is there.
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import type { RunReport } from '../../../core/metadata/run-report-schema.ts';
import type { Store } from '../../../store/store.ts';
import { FORMS } from '../../../test/rig/assay.ts';
import { ServerProcess } from '../../../test/rig/server.ts';
import { soak } from '../../../test/rig/soak.ts';
import { openMemoryStore } from '../../../test/rig/stores/memory/store.ts';
import { MAIN, PULL, sourceOf } from '../../../test/server/access/identities.ts';
import { ask, codeIn } from '../../../test/server/rig.ts';
import type { Misses } from '../api/schemas/misses.ts';
import type { Runs } from '../api/schemas/runs.ts';
import { NASTY } from './pages/fixtures.ts';
import { miss, reportOf, step } from './reports.ts';
import { testServer } from './rig.ts';

const PAGES = ['/', '/runs', '/misses', '/hermeticity', '/storage', '/setup'];
const REPORTS = soak(10_000, 30);

function hostileReport(number: number): RunReport {
  const name = `${NASTY}${number}`;
  const finding = { kind: NASTY, path: NASTY, detail: NASTY };
  const ran = miss(name, { kind: 'input', name }, 5);
  const steps = [
    {
      ...ran,
      why: NASTY,
      status: 'unproven' as const,
      findings: [finding],
      variables: [NASTY],
      needs: [NASTY],
    },
    step(NASTY, { why: NASTY, status: 'observed' }),
  ];
  const names = { repository: name, branch: name, commit: NASTY, job: 'javascript:alert(1)', where: NASTY };
  return reportOf(steps, { ...names, warnings: [NASTY] });
}

test('many reports of a pull request with hostile names are text on every page, and none of main’s', async () => {
  const server = await testServer({ identities: sourceOf(MAIN, PULL) });
  const as = ({ name }: { readonly name: string }, more = {}) => ({
    headers: { authorization: `Bearer ${name}`, ...more },
  });
  const report = hostileReport(0);
  for (let number = 0; number < REPORTS; number++) {
    const body = Buffer.from(JSON.stringify(number === 0 ? report : hostileReport(number)));
    expect((await ask(`${server.url}/api/v1/runs`, 'POST', { body, ...as(PULL) })).status).toBe(201);
  }
  for (const path of [...PAGES, `/runs/${report.id}`, `/runs?step=${encodeURIComponent('<img src=x')}`]) {
    const answer = await ask(server.url + path, 'GET', as(PULL, { accept: 'text/html' }));
    const text = answer.body.toString();
    expect([path, answer.status]).toEqual([path, 200]);
    for (const raw of ['<img', 'alert(2)</script>', 'javascript:', '\u202e', '\u0007', '\u0000'])
      expect([path, raw, text.includes(raw)]).toEqual([path, raw, false]);
  }
  const get = async <T>(path: string, who: { readonly name: string }): Promise<T> =>
    JSON.parse((await ask(`${server.url}/api/v1/${path}`, 'GET', as(who))).body.toString());
  expect((await get<Misses>('misses', PULL)).misses).toBe(REPORTS);
  expect((await get<Misses>('misses', MAIN)).misses).toBe(0);
  expect((await get<Runs>('runs', MAIN)).runs).toEqual([]);
});

test('a store that takes nothing more refuses reports, and every page shows what was there before', async () => {
  const memory = openMemoryStore();
  const { history } = memory;
  if (!history) throw new Error('a store in memory keeps a history');
  let isFull = false;
  const store: Store = {
    ...memory,
    history: {
      ...history,
      async put(documents) {
        if (isFull) throw new AssayError('ASSAY_STORE_FULL', 'there is no room');
        await history.put(documents);
      },
    },
  };
  const server = await testServer({ store, flushMs: 20 });
  const send = async (report: RunReport) =>
    ask(`${server.url}/api/v1/runs`, 'POST', { body: Buffer.from(JSON.stringify(report)) });
  const cause = { kind: 'input', name: 'VERSION' } as const;
  expect((await send(reportOf([miss('a', cause, 100)]))).status).toBe(201);
  isFull = true;
  const refused = await send(reportOf([miss('a', cause, 1000)]));
  expect([refused.status, codeIn(refused)]).toEqual([507, 'ASSAY_STORE_FULL']);
  await expect.poll(() => server.logged(), { timeout: 20_000 }).toContain('the figures could not be written');
  for (const path of PAGES)
    expect([
      path,
      (await ask(server.url + path, 'GET', { headers: { accept: 'text/html' } })).status,
    ]).toEqual([path, 200]);
  const lost = async (): Promise<Misses> =>
    JSON.parse((await ask(`${server.url}/api/v1/misses`)).body.toString());
  expect(await lost()).toMatchObject({ runs: 1, misses: 1, lostMs: 100 });
  isFull = false;
  expect((await send(reportOf([miss('a', cause, 10)]))).status).toBe(201);
  expect(await lost()).toMatchObject({ runs: 2, misses: 2, lostMs: 110 });
});

test('an installation without a file of the pages answers them with an error, and the cache goes on', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'assay-dirty-'));
  const [node, bundle] = FORMS.bundle;
  cpSync(dirname(bundle), join(folder, 'node'), { recursive: true });
  rmSync(join(folder, 'node', 'assets', 'style.css'));
  const program = [node, join(folder, 'node', 'assay.cjs')];
  const server = await ServerProcess.start(join(folder, 'store'), { program });
  try {
    for (const path of PAGES) {
      const answer = await ask(server.url + path, 'GET', { headers: { accept: 'text/html' } });
      expect([path, answer.status, codeIn(answer)]).toEqual([path, 500, 'ASSAY_INTERNAL']);
    }
    const { hash } = digestOf(Buffer.from('bytes'));
    const put = await ask(`${server.url}/cas/${hash}`, 'PUT', { body: Buffer.from('bytes') });
    expect(put.status).toBeLessThan(300);
    expect((await ask(`${server.url}/cas/${hash}`)).body.toString()).toBe('bytes');
  } finally {
    await server.kill();
    rmSync(folder, { recursive: true });
  }
});
