// /api/v1/trends: weeks by branch and step, what pull requests cost, slower and flaky steps, and who sees which of them.
import { expect, test } from 'vitest';
import type { RunReport } from '../../../../core/metadata/run-report-schema.ts';
import type { Identity } from '../../../../server/access/identity.ts';
import { identity, MAIN, OTHER, PULL, SIBLING, sourceOf } from '../../../../test/server/access/identities.ts';
import { ask } from '../../../../test/server/rig.ts';
import type { StepTotals, Trends } from '../../api/schemas/trends.ts';
import { WEEK_MS, weekOf } from '../../trends/step-weeks.ts';
import { miss, reportOf, step } from '../reports.ts';
import { testServer } from '../rig.ts';

const TEAM = identity('team', { namespace: 'acme', rights: 'overview' });
const SHARED = identity('shared', { namespace: 'acme/lib/pr' });
const FILE = { kind: 'input', name: 'a.c' } as const;
const KEY = 'a'.repeat(64);

async function served() {
  const server = await testServer({ identities: sourceOf(MAIN, PULL, SIBLING, SHARED, OTHER, TEAM) });
  const as = ({ name }: Identity) => ({ authorization: `Bearer ${name}` });
  const keep = async (who: Identity, report: RunReport): Promise<string> => {
    const body = Buffer.from(JSON.stringify(report));
    const answer = await ask(`${server.url}/api/v1/runs`, 'POST', { body, headers: as(who) });
    expect([answer.status, answer.body.toString()]).toEqual([201, expect.any(String)]);
    return report.id;
  };
  const get = async (who: Identity, query = ''): Promise<Trends> => {
    const answer = await ask(`${server.url}/api/v1/trends?${query}`, 'GET', { headers: as(who) });
    expect([answer.status, answer.body.toString()]).toEqual([200, expect.any(String)]);
    return JSON.parse(answer.body.toString());
  };
  const status = async (who: Identity, query: string) =>
    (await ask(`${server.url}/api/v1/trends?${query}`, 'GET', { headers: as(who) })).status;
  return { keep, get, status };
}

const numbers = ({ hits, misses, failed }: StepTotals) => [hits, misses, failed];
const inWeek = (weeksAgo: number) => ({
  startedAt: new Date(Math.min(Date.now(), weekOf(Date.now()) - weeksAgo * WEEK_MS + 1000)).toISOString(),
});

test('weeks have the hit rates of main, of pull requests and of other branches apart', async () => {
  const { keep, get } = await served();
  await keep(MAIN, reportOf([miss('build', FILE, 4000), step('test')], inWeek(2)));
  await keep(MAIN, reportOf([step('build'), step('test')]));
  await keep(MAIN, reportOf([step('build'), miss('test', FILE, 300)], { branch: 'fix' }));
  await keep(
    PULL,
    reportOf([step('build', { outcome: 'failed', exitCode: 1, commandMs: 50 })], { branch: 'main' }),
  );
  const { weeks, readAt, from } = await get(TEAM, 'weeks=3');
  expect([weeks.length, weeks[0]?.from, readAt !== undefined]).toEqual([3, from, true]);
  const [first, between, last] = weeks;
  if (!first || !between || !last) throw new Error('there are three weeks');
  expect([first.runs, numbers(first), first.main.hitRate, first.ranMs]).toEqual([1, [1, 1, 0], 0.5, 4000]);
  expect([between.runs, between.hitRate]).toEqual([0, undefined]);
  expect([last.runs, numbers(last), last.savedMs]).toEqual([3, [3, 1, 1], 3 * 990]);
  expect([last.main, last.pullRequests, last.others].map(numbers)).toEqual([
    [2, 0, 0],
    [0, 0, 1],
    [1, 1, 0],
  ]);
  expect([last.main.hitRate, last.pullRequests.hitRate, last.others.hitRate]).toEqual([1, 0, 0.5]);
});

test('a step has its median and its 95th percentile, in all and week by week', async () => {
  const { keep, get } = await served();
  for (let run = 1; run <= 20; run++)
    await keep(MAIN, reportOf([miss('build', FILE, run === 20 ? 9000 : 1000), miss('lint', FILE, 5)]));
  const { steps } = await get(MAIN);
  expect(steps.map((one) => one.step)).toEqual(['build', 'lint']);
  const near = (ms: number) => expect.toSatisfy((found: number) => Math.abs(found / ms - 1) < 0.04);
  expect(steps[0]).toMatchObject({ misses: 20, medianMs: near(1000), p95Ms: near(1000) });
  await keep(MAIN, reportOf([miss('build', FILE, 9000)]));
  const one = await get(MAIN, 'step=build');
  expect(one.weeks.at(-1)).toMatchObject({ runs: 21, medianMs: near(1000), p95Ms: near(9000) });
  expect([one.steps.map((row) => row.step), one.times?.length]).toEqual([['build'], 21]);
  expect(one.branches[0]).not.toHaveProperty('bytesUp');
  expect((await get(MAIN, 'step=no-such-step')).weeks.at(-1)?.runs).toBe(0);
});

test('what each pull request and each branch cost and saved', async () => {
  const { keep, get } = await served();
  const bytes = { bytesUp: 100, bytesDown: 23 };
  await keep(PULL, reportOf([miss('build', FILE, 700)], { ...bytes, branch: 'one' }));
  await keep(PULL, reportOf([step('build')], { ...bytes, branch: 'one' }));
  await keep(SIBLING, reportOf([miss('build', FILE, 40)], { branch: 'two' }));
  await keep(MAIN, reportOf([step('build')]));
  const { pullRequests, branches } = await get(TEAM);
  expect(pullRequests).toMatchObject([
    {
      place: 'acme/app/pr/…',
      repository: 'github.com/acme/app',
      count: 2,
      runs: 3,
      ranMs: 740,
      savedMs: 990,
    },
  ]);
  const one = pullRequests[0]?.newest.find(({ namespace }) => namespace === 'acme/app/pr/1');
  expect(one).toMatchObject({
    branch: 'one',
    runs: 2,
    ranMs: 700,
    savedMs: 990,
    bytesUp: 200,
    bytesDown: 46,
  });
  expect(branches.map(({ branch, runs }) => [branch, runs])).toEqual([['main', 1]]);
  /* Pull requests that share one token share a namespace, so they are one row. */
  await keep(SHARED, reportOf([miss('build', FILE, 5)], { branch: 'main' }));
  const shared = (await get(TEAM)).pullRequests.find(({ place }) => place === 'acme/lib/pr');
  expect(shared).toMatchObject({ count: 1, ranMs: 5, newest: [{ namespace: 'acme/lib/pr', runs: 1 }] });
  const own = async (namespace: string) => {
    const { weeks, pullRequests: found } = await get(TEAM, `namespace=${encodeURIComponent(namespace)}`);
    return [weeks.at(-1)?.runs, found[0]?.count];
  };
  expect(await own('acme/app/pr/1')).toEqual([2, 1]);
  expect(await own('acme/app/pr/…')).toEqual([3, 2]);
  expect(await own('acme/app/main')).toEqual([1, undefined]);
});

test('answers are narrowed by repository and branch', async () => {
  const { keep, get } = await served();
  await keep(MAIN, reportOf([step('build')]));
  await keep(MAIN, reportOf([step('build')], { branch: 'fix' }));
  await keep(MAIN, reportOf([step('build')], { repository: 'github.com/acme/lib' }));
  const runs = async (query: string) => (await get(MAIN, query)).weeks.at(-1)?.runs;
  expect([await runs('branch=main'), await runs('branch=fix'), await runs('branch=mai')]).toEqual([2, 1, 0]);
  expect(await runs('repository=github.com/acme/app&branch=main')).toBe(1);
  expect((await get(MAIN)).choices).toEqual({
    repositories: ['github.com/acme/app', 'github.com/acme/lib'],
    branches: ['fix', 'main'],
  });
});

test('a commit that made a step slower, and a flaky step', async () => {
  const { keep, get } = await served();
  const ids: string[] = [];
  for (const [at, ms] of [1000, 1010, 990, 1005, 1600, 1590, 1610].entries()) {
    const startedAt = new Date(Date.now() - (60 - at) * 1000).toISOString();
    ids.push(
      await keep(MAIN, reportOf([miss('build', FILE, ms)], { commit: `${at}`.repeat(40), startedAt })),
    );
  }
  const failed = await keep(
    MAIN,
    reportOf([step('test', { outcome: 'failed', exitCode: 3, key: KEY, cause: FILE })]),
  );
  const passed = await keep(MAIN, reportOf([{ ...miss('test', { kind: 'failed-before' }, 9), key: KEY }]));
  /* What a pull request or another branch does makes no step of main slower. */
  for (let run = 0; run < 8; run++) {
    const later = (branch: string) => ({ commit: `${branch}-${run}`, branch });
    const slow = reportOf([miss('build', FILE, run < 4 ? 100 : 9000)], later('main'));
    await keep(PULL, slow);
    await keep(MAIN, reportOf([miss('build', FILE, 9000)], later('fix')));
  }
  const { slower, flaky } = await get(TEAM);
  expect(slower).toMatchObject([
    {
      step: 'build',
      namespace: 'acme/app/main',
      branch: 'main',
      first: { commit: '4'.repeat(40), run: ids[4], commandMs: 1600 },
      last: { commit: '3'.repeat(40), run: ids[3] },
      ...{ beforeMs: 1000, afterMs: 1600, runsBefore: 4, runsAfter: 3 },
    },
  ]);
  expect(flaky).toMatchObject([
    { step: 'test', times: 1, key: KEY, failed: { run: failed, exitCode: 3 }, passed: { run: passed } },
  ]);
  expect((await get(TEAM, 'step=build')).flaky).toEqual([]);
  expect((await get(TEAM, 'step=test')).slower).toEqual([]);
  expect((await get(TEAM, 'branch=fix')).slower).toEqual([]);
});

test('each reader sees its part, and nothing of another tenant', async () => {
  const { keep, get, status } = await served();
  for (const who of [MAIN, PULL, SIBLING, OTHER])
    await keep(who, reportOf([step(`of-${who.name}`)], { repository: who.name, branch: who.name }));
  const seen = async (who: Identity, query = '') =>
    (await get(who, query)).steps.map((one) => one.step).sort();
  expect(await seen(MAIN)).toEqual(['of-main']);
  expect(await seen(PULL)).toEqual(['of-main', 'of-pull']);
  expect(await seen(TEAM)).toEqual(['of-main', 'of-pull', 'of-sibling']);
  expect(await seen(OTHER)).toEqual(['of-other']);
  for (const namespace of ['rival/app/main', 'rival/app/pr/…', '/…'])
    expect(await seen(TEAM, `namespace=${encodeURIComponent(namespace)}`)).toEqual([]);
  expect(JSON.stringify(await get(TEAM))).not.toMatch(/of-other|rival/);
  for (const query of ['week=1', 'weeks=0', 'namespace=..', 'namespace=a//b', 'namespace=%E2%80%A6'])
    expect({ query, status: await status(MAIN, query) }).toEqual({ query, status: 400 });
  expect((await get(MAIN, 'weeks=1000')).weeks).toHaveLength(12);
});
