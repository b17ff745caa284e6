// The client of a server's leases, against a server that answers whatever a test says: also an older one, a full one, a
// silent one and one that lies. None of them may cost more than one bounded time.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import type { Fence } from '../../../core/action-lease.ts';
import { parseHash } from '../../../core/digest.ts';
import { RUNNER } from '../runner/limits.ts';
import { ServerLeases, type ServerTimes } from '../runner/server.ts';

const MARK = { mark: 'assay.v1.ActionLease' };
const KEY = parseHash('ab'.repeat(32));

type Answer = { readonly status?: number; readonly body: string } | 'silence' | 'cut';
type Asked = Readonly<Record<string, unknown>> & { readonly method: string };

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

const SHORT: ServerTimes = { answerMs: 200, busyMs: 400, againMs: 50 };

/** What was asked, and a client of a server that answers so. */
async function clientOf(answer: (asked: Asked) => Answer | object, times?: ServerTimes, knownMs = 5000.4) {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const one: Asked = { ...JSON.parse(text), method: request.url?.split('/').at(-1) ?? '' };
    asked.push(one);
    const given = answer(one);
    if (given === 'silence') return;
    if (given === 'cut') return void request.socket.destroy();
    const { status = 200, body } =
      'body' in given ? (given as Exclude<Answer, string>) : { body: JSON.stringify({ ...MARK, ...given }) };
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/team/app`);
  const leases = new ServerLeases({ url, token: 'secret', holder: 'ci-7', ...(times && { times }) });
  let lost = 0;
  const place = leases.of({ key: KEY, step: 'ef'.repeat(16), knownMs }, () => lost++);
  const ask = (after?: Fence) => place.acquire(after, Number.POSITIVE_INFINITY);
  return { asked, place, ask, leases, lost: () => lost };
}

test('a granted lease says who asks, beats, and is released with the reason', async () => {
  const { asked, ask, leases } = await clientOf(({ method }) =>
    method === 'acquire'
      ? { outcome: 'granted', fence: '2.17', heartbeatMs: 1, expiresInMs: 15_000 }
      : { outcome: method === 'heartbeat' ? 'held' : 'released', fence: '2.17' },
  );
  const got = await ask({ epoch: 1, number: 3 });
  if (got.outcome !== 'granted') throw new Error(got.outcome);
  expect(got.grant.fence).toEqual({ epoch: 2, number: 17 });
  while (asked.length < 3) await sleep(10);
  await got.grant.release('failed', 'exit code 2');
  await got.grant.release('done');
  const [acquire, heartbeat] = asked;
  expect(acquire).toMatchObject({
    ...{ method: 'acquire', namespace: 'team/app', key: KEY, holder: 'ci-7', step: 'ef'.repeat(16) },
    ...{ expectedMs: 5000, after: '1.3' },
  });
  expect(acquire?.id).toMatch(/^[0-9a-f]{32}$/);
  expect(heartbeat).toMatchObject({ method: 'heartbeat', id: acquire?.id, fence: '2.17' });
  expect(asked.filter(({ method }) => method === 'release')).toEqual([
    expect.objectContaining({ id: acquire?.id, fence: '2.17', reason: 'failed', detail: 'exit code 2' }),
  ]);
  await leases.close();
});

test('a lease that another run has taken over is told once, and released no more', async () => {
  const { asked, ask, lost } = await clientOf(({ method }) =>
    method === 'acquire'
      ? { outcome: 'granted', fence: '1.1', heartbeatMs: 1 }
      : { outcome: 'lost', fence: '1.2' },
  );
  const got = await ask();
  if (got.outcome !== 'granted') throw new Error(got.outcome);
  while (lost() === 0) await sleep(10);
  expect(got.grant.isLost).toBe(true);
  await got.grant.release('done');
  // On a busy machine a second heartbeat is sent before the first is answered.
  expect(new Set(asked.map(({ method }) => method))).toEqual(new Set(['acquire', 'heartbeat']));
  expect(lost()).toBe(1);
});

test('a wait says how the holder ended', async () => {
  const { asked, place, ask } = await clientOf(({ method }) =>
    method === 'acquire'
      ? { outcome: 'held', fence: '1.5', holder: 'ci-9', heldMs: 2000, leftMs: 3000 }
      : { outcome: 'ended', fence: '1.5', reason: 'failed', detail: 'exit code 1' },
  );
  const got = await ask();
  if (got.outcome !== 'held') throw new Error(got.outcome);
  expect(got).toMatchObject({ holder: 'ci-9', leftMs: 3000, fence: { epoch: 1, number: 5 } });
  expect(await place.wait(got, 1234.5)).toMatchObject({
    outcome: 'ended',
    reason: 'failed',
    detail: 'exit code 1',
  });
  expect(asked[1]).toMatchObject({ method: 'wait', key: KEY, fence: '1.5', waitMs: 1235 });
  expect(asked[1]).not.toHaveProperty('id');
});

describe('an answer that is none: everybody runs, and asks no more', () => {
  const answers: readonly (readonly [string, Answer])[] = [
    ['an older server', { status: 404, body: '{}' }],
    ['no right', { status: 403, body: '{"code":"ASSAY_FORBIDDEN"}' }],
    ['another server', { body: '<html>' }],
    ['JSON of another server', { body: '{"outcome":"granted","fence":"1.1"}' }],
    ['nothing', { body: '' }],
    ['too much', { body: `{"outcome":"${'x'.repeat(100_000)}"}` }],
    ['silence', 'silence'],
  ];
  test.each(answers)('%s', async (_, answer) => {
    const { asked, ask } = await clientOf(() => answer, answer === 'silence' ? SHORT : undefined);
    expect(await ask()).toEqual({ outcome: 'none' });
    expect(await ask()).toEqual({ outcome: 'none' });
    expect(asked).toHaveLength(1);
  });
});

test.each([
  { outcome: 'granted' },
  { outcome: 'granted', fence: 'x' },
  { outcome: 'ended', reason: 'stolen' },
  { outcome: 'none', why: 'busy' },
  { outcome: 'something new' },
])('an answer that this version can’t use is no lease: %j', async (answer) => {
  const { asked, ask } = await clientOf(() => answer);
  expect(await ask()).toEqual({ outcome: 'none' });
  await ask();
  expect(asked).toHaveLength(2);
});

/** Answers the first question for a lease, and then the other ones as the list says; the last one again and again. */
function heldAndThen(...answers: readonly (Answer | object)[]) {
  let asked = -1;
  return () =>
    asked++ < 0 ? { outcome: 'held', fence: '1.5' } : (answers[Math.min(asked, answers.length) - 1] ?? {});
}

const BUSY: Answer = { status: 503, body: '{}' };

describe('a server that has answered before', () => {
  test('is asked again for a lease and in a wait', async () => {
    const { asked, place, ask } = await clientOf(
      heldAndThen(BUSY, { outcome: 'held', fence: '1.5' }, BUSY, { outcome: 'ended', reason: 'done' }),
    );
    await ask();
    const got = await ask();
    if (got.outcome !== 'held') throw new Error(got.outcome);
    expect(await place.wait(got, 5000)).toMatchObject({ outcome: 'ended', reason: 'done' });
    expect(asked).toHaveLength(5);
  });

  test.each([
    ['busy', BUSY, 2],
    ['silent', 'silence', 1],
  ] as const)('and is %s for long is asked for a bounded time', async (_, answer, more) => {
    const { asked, ask } = await clientOf(heldAndThen(answer), { ...SHORT, answerMs: RUNNER.answerMs });
    await ask();
    expect(await ask()).toEqual({ outcome: 'none' });
    const questions = asked.length;
    expect(questions).toBeGreaterThan(more);
    expect(await ask()).toEqual({ outcome: 'none' });
    expect(asked.length > questions).toBe(answer === BUSY);
  });

  test('and forbids it now is asked no more', async () => {
    const { asked, ask } = await clientOf(heldAndThen({ status: 403, body: '{}' }));
    await ask();
    await ask();
    await ask();
    expect(asked).toHaveLength(2);
  });
});

test('a run whose server is away for a while keeps its lease by heartbeats, and releases it', async () => {
  let isAway = false;
  const { asked, ask } = await clientOf(({ method }) => {
    if (isAway) return { status: 502, body: '<html>' };
    return method === 'acquire'
      ? { outcome: 'granted', fence: '1.1', heartbeatMs: 1 }
      : { outcome: 'held', fence: '1.1' };
  }, SHORT);
  const got = await ask();
  if (got.outcome !== 'granted') throw new Error(got.outcome);
  isAway = true;
  expect(await ask()).toEqual({ outcome: 'none' });
  const beats = () => asked.filter(({ method }) => method === 'heartbeat').length;
  const before = beats();
  while (beats() < before + 2) await sleep(10);
  isAway = false;
  await got.grant.release('done');
  expect(got.grant.isLost).toBe(false);
  expect(asked.at(-1)).toMatchObject({ method: 'release', reason: 'done' });
});

test('a wait at a server that falls silent ends with the patience of the run', async () => {
  const { place, ask } = await clientOf(heldAndThen('silence'));
  const got = await ask();
  if (got.outcome !== 'held') throw new Error(got.outcome);
  expect(await place.wait(got, 100)).toEqual(got);
});

test('a long action is awaited also while its server starts again, and a short one is not', async () => {
  const times = { ...SHORT, answerMs: RUNNER.answerMs, busyMs: 1 };
  for (const [knownMs, outcome] of [
    [1_000_000, 'held'],
    [1, 'none'],
  ] as const) {
    const { place, ask } = await clientOf(heldAndThen('cut'), times, knownMs);
    const got = await ask();
    if (got.outcome !== 'held') throw new Error(got.outcome);
    expect(await place.wait(got, 800)).toMatchObject({ outcome });
  }
});

test('a wait that a full server refuses goes on, and one that it refuses for good does not', async () => {
  const full = { outcome: 'none', why: 'full', retryMs: 20 };
  const { asked, place, ask } = await clientOf(
    heldAndThen(full, full, { outcome: 'ended', reason: 'done' }, { outcome: 'none', why: 'never' }),
  );
  const got = await ask();
  if (got.outcome !== 'held') throw new Error(got.outcome);
  expect(await place.wait(got, 20_000)).toMatchObject({ outcome: 'ended' });
  expect(await place.wait(got, 20_000)).toEqual({ outcome: 'none' });
  expect(asked).toHaveLength(5);
});

test('a wait at a server that refuses every time ends in its time', async () => {
  const { place, ask } = await clientOf(heldAndThen({ outcome: 'none', why: 'full', retryMs: 60_000 }));
  const got = await ask();
  if (got.outcome !== 'held') throw new Error(got.outcome);
  expect(await place.wait(got, 100)).toEqual(got);
});

test('a release that gets no answer is sent again', async () => {
  let releases = 0;
  const { asked, ask } = await clientOf(({ method }) => {
    if (method === 'acquire') return { outcome: 'granted', fence: '1.1', heartbeatMs: 60_000 };
    releases++;
    return releases === 1 ? 'cut' : releases === 2 ? BUSY : { outcome: 'released' };
  });
  const got = await ask();
  if (got.outcome !== 'granted') throw new Error(got.outcome);
  await got.grant.release('done');
  expect(asked.map(({ method }) => method)).toEqual(['acquire', 'release', 'release', 'release']);
});

test('a server that is busy is asked again for the next action', async () => {
  const { asked, ask } = await clientOf(() => ({ status: 503, body: '{}' }));
  await ask();
  await ask();
  expect(asked).toHaveLength(2);
});
