// /api/v1/runs and /api/v1/misses: what is kept of a report, who may send and see it, and how it is ranked.
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type Hash, toWire } from '../../../core/digest.ts';
import type { RunReport } from '../../../core/metadata/run-report-schema.ts';
import { Action, Command, Directory } from '../../../core/proto/generated/reapi.ts';
import type { Identity } from '../../../server/access/identity.ts';
import { causeText } from '../../../store/actions/miss-text.ts';
import type { Store } from '../../../store/store.ts';
import {
  identity,
  MAIN,
  OTHER,
  PULL,
  READER,
  SIBLING,
  sourceOf,
  WRITER,
} from '../../../test/server/access/identities.ts';
import { ask, codeIn, type TestServerOptions } from '../../../test/server/rig.ts';
import { contentOf, putOne } from '../../../test/store/content.ts';
import type { Hermeticity } from '../api/schemas/hermeticity.ts';
import type { Misses } from '../api/schemas/misses.ts';
import type { Reported, Run, Runs } from '../api/schemas/runs.ts';
import { miss, reportOf, step } from './reports.ts';
import { testServer } from './rig.ts';

const ROOT = identity('root', { namespace: '', rights: 'read-write' });
const ONLY_REPORTS = identity('only-reports', {
  namespace: 'acme/app/main',
  rights: 'results:read,runs:write',
});
const EVERYBODY = sourceOf(MAIN, PULL, SIBLING, READER, WRITER, OTHER, ROOT, ONLY_REPORTS);

async function served(options: TestServerOptions = {}) {
  const server = await testServer({ identities: EVERYBODY, ...options });
  const as = (who: Identity) => ({ authorization: `Bearer ${who.name}` });
  const send = (who: Identity, report: object, namespace = '') =>
    ask(`${server.url}/api/v1/runs?namespace=${namespace}`, 'POST', {
      body: Buffer.from(JSON.stringify(report)),
      headers: as(who),
    });
  const keep = async (who: Identity, report: RunReport, namespace?: string): Promise<Reported> => {
    const answer = await send(who, report, namespace);
    expect([answer.status, answer.body.toString()]).toEqual([201, expect.any(String)]);
    return JSON.parse(answer.body.toString());
  };
  async function get<T>(who: Identity, path: string): Promise<T> {
    const answer = await ask(`${server.url}/api/v1/${path}`, 'GET', { headers: as(who) });
    expect([answer.status, answer.body.toString()]).toEqual([200, expect.any(String)]);
    return JSON.parse(answer.body.toString());
  }
  const status = async (who: Identity, path: string) =>
    (await ask(`${server.url}/api/v1/${path}`, 'GET', { headers: as(who) })).status;
  return { server, send, keep, get, status };
}

const idsOf = ({ runs }: Runs) => runs.map(({ id }) => id);

describe('a reported run', () => {
  test.each([
    ['later', 1000],
    ['earlier', -100_000],
  ])('keeps its page when another namespace reports its id with a time that is %s', async (_how, byMs) => {
    const { keep, get } = await served();
    const main = reportOf([step('of-main')]);
    await keep(MAIN, main);
    const startedAt = new Date(Date.parse(main.startedAt) + byMs).toISOString();
    await keep(OTHER, reportOf([step('forged')], { id: main.id, startedAt }));
    await keep(PULL, reportOf([step('forged')], { id: main.id, startedAt }));
    for (const who of [ROOT, READER, PULL]) {
      const { namespace, stepList } = await get<Run>(who, `runs/${main.id}`);
      expect([namespace, stepList.map((one) => one.step)]).toEqual(['acme/app/main', ['of-main']]);
    }
    const own = await get<Run>(OTHER, `runs/${main.id}`);
    expect([own.namespace, JSON.stringify(own).includes('receivedAt')]).toEqual(['rival/app/main', false]);
  });

  test('is shown with its totals, its steps and its critical path', async () => {
    const { server, keep, get } = await served();
    const report = reportOf(
      [
        step('lint', { startMs: 0, elapsedMs: 5, commandMs: 400 }),
        miss('compile', { kind: 'input', name: 'src/a.ts' }, 700),
        step('test', {
          startMs: 705,
          elapsedMs: 100,
          waitedMs: 50,
          commandMs: 90,
          needs: ['lint', 'compile'],
        }),
      ],
      { bytesUp: 1234 },
    );
    const { id, url } = await keep(MAIN, report, 'web');
    expect({ id, url }).toEqual({ id: report.id, url: `${server.url}/runs/${report.id}` });
    const shown = await get<Run>(READER, `runs/${id}`);
    expect(shown).toMatchObject({
      id,
      source: 'reported',
      tool: 'assay',
      namespace: 'acme/app/main/web',
      identity: 'main',
      outcome: 'passed',
      repository: 'github.com/acme/app',
      steps: 3,
      hits: 2,
      misses: 1,
      failed: 0,
      savedMs: 395,
      bytesUp: 1234,
      criticalPath: ['compile', 'test'],
    });
    expect(shown.stepList.map(({ step: name, isCritical }) => [name, isCritical])).toEqual([
      ['lint', false],
      ['compile', true],
      ['test', true],
    ]);
    const list = await get<Runs>(READER, 'runs');
    const { stepList: _steps, failures: _failures, criticalPath: _path, lookups: _lookups, ...more } = shown;
    const { warnings: _warnings, ...rest } = more;
    const { jobs: _jobs, exitCode: _exitCode, ...row } = rest;
    expect(list.runs).toEqual([row]);
  });

  test.each([
    [{ exitCode: 1 }, 'failed'],
    [{ exitCode: 130, isInterrupted: true }, 'interrupted'],
    [{ exitCode: 0 }, 'passed'],
  ] as const)('with %j is %s', async (more, outcome) => {
    const { keep, get } = await served();
    const { id } = await keep(MAIN, reportOf([step('a')], more));
    expect((await get<Run>(MAIN, `runs/${id}`)).outcome).toBe(outcome);
  });

  test('names the run before it with the same steps, repository and branch', async () => {
    const { keep, get } = await served();
    const at = (minute: number) => ({ startedAt: `2026-11-17T10:0${minute}:00.000Z` });
    const first = await keep(MAIN, reportOf([step('a'), step('b')], { ...at(1), elapsedMs: 77 }));
    await keep(MAIN, reportOf([step('a')], at(2)));
    await keep(MAIN, reportOf([step('a'), step('b')], { ...at(3), branch: 'other' }));
    const last = await keep(MAIN, reportOf([step('b'), step('a')], at(4)));
    expect((await get<Run>(MAIN, `runs/${last.id}`)).previous).toEqual({ id: first.id, elapsedMs: 77 });
    expect((await get<Run>(MAIN, `runs/${first.id}`)).previous).toBeUndefined();
  });

  test('is not replaced by another with its id, nor seen through the id of another tenant', async () => {
    const { keep, send, get, status } = await served();
    const report = reportOf([step('a')]);
    await keep(MAIN, report);
    const again = await send(MAIN, { ...report, branch: 'changed' });
    expect([again.status, codeIn(again)]).toEqual([400, 'ASSAY_BAD_MESSAGE']);
    await keep(OTHER, { ...report, branch: 'theirs' });
    expect((await get<Run>(MAIN, `runs/${report.id}`)).branch).toBe('main');
    expect((await get<Run>(OTHER, `runs/${report.id}`)).branch).toBe('theirs');
    expect(await status(SIBLING, 'runs/no-such-run')).toBe(404);
    expect(await status(SIBLING, `runs/${'%2e'.repeat(3)}`)).toBe(404);
  });

  test('is found after a restart of the server on the same store', async () => {
    const { server, keep } = await served();
    const { id } = await keep(ROOT, reportOf([step('a')]));
    const again = await testServer({ identities: EVERYBODY, store: server.store });
    const answer = await ask(`${again.url}/api/v1/runs/${id}`, 'GET', {
      headers: { authorization: 'Bearer root' },
    });
    expect(answer.status).toBe(200);
  });
});

describe('who', () => {
  test('may report: only a token with runs:write, and never on a read-only server', async () => {
    const { send } = await served();
    const report = reportOf([step('a')]);
    expect((await send(READER, report)).status).toBe(403);
    expect((await send(ONLY_REPORTS, report)).status).toBe(201);
    const readOnly = await served({ readOnly: true });
    expect(codeIn(await readOnly.send(MAIN, report))).toBe('ASSAY_READ_ONLY');
  });

  test('may see a run: those who read its namespace', async () => {
    const { keep, get, status } = await served();
    const main = await keep(MAIN, reportOf([step('a')], { startedAt: '2026-11-17T10:00:00.000Z' }));
    const pull = await keep(PULL, reportOf([step('a')], { startedAt: '2026-11-17T10:01:00.000Z' }));
    const other = await keep(OTHER, reportOf([step('a')], { startedAt: '2026-11-17T10:02:00.000Z' }));
    const seen = async (who: Identity) => idsOf(await get<Runs>(who, 'runs'));
    expect(await seen(ROOT)).toEqual([other.id, pull.id, main.id]);
    expect(await seen(PULL)).toEqual([pull.id, main.id]);
    expect(await seen(SIBLING)).toEqual([main.id]);
    expect(await seen(READER)).toEqual([main.id]);
    expect(await seen(OTHER)).toEqual([other.id]);
    expect(await status(WRITER, 'runs')).toBe(403);
    for (const who of [SIBLING, READER, OTHER]) expect(await status(who, `runs/${pull.id}`)).toBe(404);
    expect(await status(PULL, `runs/${pull.id}`)).toBe(200);
  });
});

describe('the list of runs', () => {
  test('is filtered and paged, newest first, with every run once', async () => {
    const { keep, get } = await served();
    const ids: string[] = [];
    for (let minute = 10; minute < 30; minute++) {
      const more = { startedAt: `2026-11-17T10:${minute}:00.000Z`, branch: minute % 2 ? 'odd' : 'even' };
      ids.unshift((await keep(MAIN, reportOf([step(minute < 20 ? 'early' : 'late')], more))).id);
    }
    const odd = ids.filter((_, index) => index % 2 === 0);
    const found: string[] = [];
    for (let next: string | undefined = ''; next !== undefined; ) {
      const page: Runs = await get<Runs>(
        MAIN,
        `runs?branch=odd&limit=3${next && `&before=${encodeURIComponent(next)}`}`,
      );
      found.push(...idsOf(page));
      next = page.next;
    }
    expect(found).toEqual(odd);
    for (const part of ['early', 'arl'])
      expect(idsOf(await get<Runs>(MAIN, `runs?step=${part}`))).toEqual(ids.slice(10));
    await keep(MAIN, reportOf([step('old')], { startedAt: '2026-11-15T23:59:59.999Z' }));
    expect(idsOf(await get<Runs>(MAIN, 'runs?until=2026-11-16'))).toHaveLength(1);
    expect(idsOf(await get<Runs>(MAIN, 'runs?until=2026-11-17'))).toHaveLength(21);
    expect(idsOf(await get<Runs>(MAIN, 'runs?until=2026-11-14'))).toHaveLength(0);
    const { choices } = await get<Runs>(MAIN, 'runs');
    expect(choices).toMatchObject({ branches: ['even', 'main', 'odd'], tools: ['assay'] });
  });

  test('refuses a query that it does not know', async () => {
    const { status } = await served();
    for (const query of ['brunch=main', 'limit=0', 'limit=x', 'outcome=A', 'until=x', 'until=2026-99-99'])
      expect(await status(MAIN, `runs?${query}`)).toBe(400);
  });
});

describe('a report is refused', () => {
  const whole = reportOf([step('a')]);
  const first = whole.steps[0];
  test.each<[string, object]>([
    ['with an unknown field', { ...whole, secret: 'x' }],
    ['with a field that a step does not have', { ...whole, steps: [{ ...first, environment: { A: 'b' } }] }],
    ['without steps', { ...whole, steps: undefined }],
    ['with an id that is none', { ...whole, id: '../../x' }],
    ['with a time that is none', { ...whole, startedAt: '2026-99-99T99:99:99Z' }],
    ['with a negative duration', { ...whole, elapsedMs: -1 }],
    ['with a name that is too long', { ...whole, branch: 'x'.repeat(501) }],
    ['with too many steps', { ...whole, steps: Array.from({ length: 5001 }, () => ({})) }],
    ['of another version', { ...whole, version: 2 }],
  ])('%s', async (_name, report) => {
    const { send, get } = await served();
    expect((await send(MAIN, report)).status).toBe(400);
    expect((await get<Runs>(MAIN, 'runs')).runs).toEqual([]);
  });
});

describe('misses worth fixing', () => {
  test('are ranked by the time that they cost, not by their number', async () => {
    const { keep, get } = await served();
    await keep(
      MAIN,
      reportOf([
        miss('a', { kind: 'input', name: 'VERSION' }, 100),
        miss('b', { kind: 'tool', name: 'cc' }, 5000),
      ]),
    );
    await keep(MAIN, reportOf([miss('a', { kind: 'input', name: 'VERSION' }, 300), step('b')]));
    const last = await keep(
      PULL,
      reportOf([miss('c', { kind: 'input', name: 'VERSION' }, 200), miss('d', undefined, 1)]),
    );
    await keep(OTHER, reportOf([miss('x', { kind: 'input', name: 'VERSION' }, 1_000_000)]));
    const found = await get<Misses>(PULL, 'misses');
    expect(found).toMatchObject({ runs: 3, misses: 5, lostMs: 5601, moreCauses: 0 });
    expect(found.causes.map(({ text, count, lostMs }) => [text, count, lostMs])).toEqual([
      [causeText({ kind: 'tool', name: 'cc' }), 1, 5000],
      [causeText({ kind: 'input', name: 'VERSION' }), 3, 600],
      [causeText({ kind: 'unknown' }), 1, 1],
    ]);
    expect(found.causes[1]).toMatchObject({
      share: 600 / 5601,
      example: { run: last.id, step: 'c' },
      steps: [
        { step: 'a', repository: 'github.com/acme/app', count: 2, lostMs: 400 },
        { step: 'c', repository: 'github.com/acme/app', count: 1, lostMs: 200 },
      ],
    });
    expect((await get<Misses>(READER, 'misses')).lostMs).toBe(5400);
  });

  test('of an older run are left out, and those of one file in two repositories are two causes', async () => {
    const { keep, get } = await served();
    const cause = { kind: 'input', name: 'VERSION' } as const;
    await keep(
      MAIN,
      reportOf([miss('a', cause, 100)], { startedAt: new Date(Date.now() - 3 * 86_400_000).toISOString() }),
    );
    await keep(MAIN, reportOf([miss('a', cause, 30)]));
    await keep(MAIN, reportOf([miss('a', cause, 20)], { repository: 'github.com/acme/lib' }));
    expect((await get<Misses>(MAIN, 'misses?days=2')).causes.map(({ lostMs }) => lostMs)).toEqual([30, 20]);
    expect((await get<Misses>(MAIN, 'misses?days=4')).causes.map(({ lostMs }) => lostMs)).toEqual([130, 20]);
  });
});

const NOTHING = new Uint8Array(0);

describe('a miss of a machine without history', () => {
  /** An action with these inputs, whose messages the tenant has stored. */
  async function storeAction(
    store: Store,
    files: Readonly<Record<string, string>>,
    variable: string,
  ): Promise<Hash> {
    const nodes = Object.entries(files).map(([name, content]) => ({ name, content }));
    const root = Directory.encode({
      files: nodes.map(({ name, content }) => ({
        name,
        digest: { hash: contentHash(content), sizeBytes: 1 },
        isExecutable: false,
        nodeProperties: undefined,
      })),
      directories: [],
      symlinks: [],
      nodeProperties: undefined,
    }).finish();
    const command = Command.encode({
      ...Command.decode(NOTHING),
      arguments: ['make'],
      environmentVariables: [{ name: 'TOKEN_URL', value: variable }],
    }).finish();
    const rootDigest = await putOne(store, Buffer.from(root));
    const commandDigest = await putOne(store, Buffer.from(command));
    const action = Action.encode({
      ...Action.decode(NOTHING),
      commandDigest: toWire(commandDigest),
      inputRootDigest: toWire(rootDigest),
    }).finish();
    return (await putOne(store, Buffer.from(action))).hash;
  }
  const contentHash = (content: string) => contentOf(content, 32).toString('hex');

  test('is explained by the action that the step had in the run before, without the value of a variable', async () => {
    const { server, keep, get } = await served();
    const tenant = server.store.tenant('acme');
    const before = await storeAction(tenant, { 'a.c': '1', 'b.c': '1' }, 'one');
    const after = await storeAction(tenant, { 'a.c': '1', 'b.c': '2' }, 'one');
    const third = await storeAction(tenant, { 'a.c': '1', 'b.c': '2' }, 'two');
    const built = (key: Hash) => ({
      ...miss('build', { kind: 'first-run' }, 500),
      key,
      status: 'declared' as const,
    });
    const ago = (minutes: number) => ({ startedAt: new Date(Date.now() - minutes * 60_000).toISOString() });
    await keep(MAIN, reportOf([built(before)], ago(3)));
    const second = await keep(PULL, reportOf([built(after)], ago(2)));
    const last = await keep(PULL, reportOf([built(third)], ago(1)));
    const stepOf = async (id: string) => {
      for (;;) {
        const [found] = (await get<Run>(PULL, `runs/${id}`)).stepList;
        if (found?.cause?.kind !== 'first-run') return found;
        await sleep(5);
      }
    };
    expect(await stepOf(second.id)).toMatchObject({
      cause: { kind: 'input', name: 'b.c' },
      why: 'b.c changed',
      isStored: true,
    });
    expect(await stepOf(last.id)).toMatchObject({
      cause: { kind: 'variable', name: 'TOKEN_URL' },
      why: causeText({ kind: 'variable', name: 'TOKEN_URL' }),
    });
    const { causes, runs, misses } = await get<Misses>(PULL, 'misses');
    expect([runs, misses]).toEqual([3, 3]);
    expect(causes.map(({ text, count }) => [text, count]).sort()).toEqual([
      [causeText({ kind: 'input', name: 'b.c' }), 1],
      [causeText({ kind: 'variable', name: 'TOKEN_URL' }), 1],
      [causeText({ kind: 'first-run' }), 1],
    ]);
  });
});

test('findings stay while later runs of the step are hits, and go when its command finds nothing', async () => {
  const { keep, get } = await served();
  const found = { kind: 'read', path: 'note.txt', detail: '' };
  const ran = { ...miss('join', undefined, 5), status: 'observed' as const };
  const hit = step('join', { status: 'observed' });
  const newest = async () => {
    const { findings, steps } = await get<Hermeticity>(MAIN, 'hermeticity');
    return [findings.map(({ path }) => path), steps.map((one) => one.findings)];
  };
  await keep(MAIN, reportOf([{ ...ran, findings: [found], moreFindings: 2 }]));
  for (let run = 0; run < 2; run++) await keep(MAIN, reportOf([hit]));
  expect(await newest()).toEqual([['note.txt'], [3]]);
  await keep(MAIN, reportOf([ran]));
  expect(await newest()).toEqual([[], [0]]);
});
