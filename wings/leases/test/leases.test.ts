// Action leases of a server, over HTTP and gRPC: who runs, who waits, and what each is told.
import { afterEach, describe, expect, test } from 'vitest';
import { ACTION_LEASE_MARK, ACTION_LEASES_SERVICE, LONGEST_POLL_MS } from '../../../core/action-lease.ts';
import type { Hash } from '../../../core/digest.ts';
import { stepId } from '../../../core/metadata/step-id.ts';
import { DEFAULT_NAMESPACE, type Namespace, parseNamespace } from '../../../core/namespace.ts';
import { ActionLeaseAnswer, ActionLeaseRequest } from '../../../core/proto/generated/action-leases.ts';
import type { Identity } from '../../../server/access/identity.ts';
import { parseRights } from '../../../server/access/rights.ts';
import { documentOf } from '../../../server/history/documents.ts';
import { STEP_KIND } from '../../../server/history/step-documents.ts';
import { addLayers } from '../../../store/open.ts';
import type { Store } from '../../../store/store.ts';
import { GrpcClient } from '../../../test/rig/grpc.ts';
import { memoryEngine } from '../../../test/rig/stores/memory/engine.ts';
import { ask, codeIn, type TestServerOptions, testServer } from '../../../test/server/rig.ts';
import { addressOf, resultNaming } from '../../../test/store/content.ts';
import type { LeaseFields } from '../fields.ts';
import { LEASES } from '../limits.ts';
import { leases } from '../part.ts';
import type { LeaseAnswer, LeaseMethod } from '../service.ts';

const KEY = addressOf('action').key;
const LONG = LONGEST_POLL_MS;

const MAIN = parseNamespace('acme/app/main');
const PULL = parseNamespace('acme/app/pr/1');

/** A token is the name of its identity. */
function identity(
  name: string,
  namespace: Namespace,
  rights: string,
  reads: readonly Namespace[] = [],
): Identity {
  return { name, namespace, rights: parseRights(rights) ?? new Set(), reads };
}

const IDENTITIES = [
  identity('main', MAIN, 'read-write'),
  identity('pull', PULL, 'read-write', [MAIN]),
  identity('writer', MAIN, 'write'),
  identity('reader', MAIN, 'read'),
];
const identities = { identify: (token: string) => IDENTITIES.find(({ name }) => name === token) };

type Asked = Partial<LeaseFields>;

/** Asks as a runner: its name gives the id, and the holder. */
interface Runner {
  acquire(more?: Asked): Promise<LeaseAnswer>;
  wait(fence: string | undefined, waitMs?: number): Promise<LeaseAnswer>;
  heartbeat(fence: string | undefined): Promise<LeaseAnswer>;
  release(fence: string | undefined, reason: string, detail?: string): Promise<LeaseAnswer>;
}

type Send = (method: LeaseMethod, fields: Asked) => Promise<LeaseAnswer>;

function runner(name: string, send: Send, key: Hash = KEY): Runner {
  const fields = { namespace: '', key, id: Buffer.from(name.padEnd(16)).toString('hex') };
  return {
    acquire: (more) => send('acquire', { ...fields, holder: name, ...more }),
    wait: (fence = '', waitMs = LONG) => send('wait', { ...fields, fence, waitMs }),
    heartbeat: (fence = '') => send('heartbeat', { ...fields, fence }),
    release: (fence = '', reason, detail = '') => send('release', { ...fields, fence, reason, detail }),
  };
}

const clients: GrpcClient[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});

const overHttp =
  (url: string, token?: string): Send =>
  async (method, fields) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const body = Buffer.from(JSON.stringify(fields));
    const answer = await ask(`${url}/action-leases/v1/${method}`, 'POST', { headers, body });
    if (answer.status !== 200) throw new Error(`${answer.status} ${String(codeIn(answer))}`);
    return JSON.parse(answer.body.toString());
  };

async function overGrpc(url: string): Promise<Send> {
  const client = await GrpcClient.to(url);
  clients.push(client);
  const nothing = ActionLeaseRequest.decode(new Uint8Array(0));
  return async (method, { namespace = '', step = '', ...fields }) => {
    const message = { ...nothing, ...fields, instanceName: namespace, step: Buffer.from(step, 'hex') };
    const name = method.replace(/^./, (first) => first.toUpperCase());
    const bytes = ActionLeaseRequest.encode(message).finish();
    const answer = await client.call(`/${ACTION_LEASES_SERVICE}/${name}`, bytes);
    if (answer.status !== 'OK') throw new Error(`${answer.status} ${answer.message}`);
    return toAnswer(ActionLeaseAnswer.decode(answer.messages[0] ?? Buffer.alloc(0)));
  };
}

/** Without the fields that a message has only as their default. */
function toAnswer({ _unknownFields, ...sent }: ActionLeaseAnswer): LeaseAnswer {
  const present = Object.entries(sent).filter(([, value]) => value !== '' && value !== 0);
  return JSON.parse(JSON.stringify(Object.fromEntries(present)));
}

const server = (options: TestServerOptions = {}) => testServer({ wings: [leases()], ...options });

describe.each(['HTTP', 'gRPC'] as const)('over %s', (protocol) => {
  const open = async (url: string): Promise<Send> => (protocol === 'HTTP' ? overHttp(url) : overGrpc(url));

  async function runners(...names: readonly string[]): Promise<Runner[]> {
    const { url } = await server();
    const send = await open(url);
    return names.map((name) => runner(name, send));
  }

  const pair = async (): Promise<[Runner, Runner]> => {
    const [one, other] = await runners('ci-7', 'ci-8');
    if (!one || !other) throw new Error('two runners');
    return [one, other];
  };

  test('one runs, and another waits until it is done, and then looks the result up', async () => {
    const [one, other] = await pair();
    const granted = await one.acquire({ expectedMs: 60_000 });
    expect(granted).toMatchObject({ mark: ACTION_LEASE_MARK, outcome: 'granted', expectedMs: 60_000 });
    const held = await other.acquire();
    expect(held).toMatchObject({ outcome: 'held', holder: 'ci-7', fence: granted.fence });
    expect(held.leftMs).toBeGreaterThan(50_000);
    const waited = other.wait(held.fence);
    expect(await one.heartbeat(granted.fence)).toMatchObject({ outcome: 'held', fence: granted.fence });
    expect((await one.release(granted.fence, 'done')).outcome).toBe('released');
    expect(await waited).toMatchObject({ outcome: 'ended', reason: 'done', fence: granted.fence });
    expect(await other.acquire()).toMatchObject({ outcome: 'ended', reason: 'done' });
    expect(await other.acquire({ after: granted.fence ?? '' })).toMatchObject({ outcome: 'granted' });
  });

  test('whoever waits is told how it ended, and what the holder said', async () => {
    const [one, other] = await pair();
    const { fence } = await one.acquire();
    const waited = other.wait(fence);
    await one.release(fence, 'failed', 'exit code 2');
    expect(await waited).toMatchObject({ outcome: 'ended', reason: 'failed', detail: 'exit code 2' });
    expect(await other.wait(fence)).toMatchObject({ outcome: 'ended', reason: 'failed' });
  });

  test('a wait ends with its time, and the lease goes on', async () => {
    const [one, other] = await pair();
    const { fence } = await one.acquire();
    expect(await other.wait(fence, 1)).toMatchObject({ outcome: 'held', fence });
    expect(await one.heartbeat(fence)).toMatchObject({ outcome: 'held' });
  });

  test('who lost its lease is told the fence of the newer one', async () => {
    const [one, other] = await pair();
    const { fence } = await one.acquire();
    await one.release(fence, 'cancelled');
    const newer = await other.acquire();
    expect(await one.heartbeat(fence)).toMatchObject({ outcome: 'lost', fence: newer.fence });
    expect(await one.release(fence, 'done')).toMatchObject({ outcome: 'lost', fence: newer.fence });
    expect(await one.wait(fence)).toMatchObject({ outcome: 'held', fence: newer.fence });
  });

  test.each<[string, LeaseMethod, Asked]>([
    ['a key', 'acquire', { key: 'x' as Hash }],
    ['a namespace', 'acquire', { namespace: '../a' }],
    ['an id', 'acquire', { id: 'mine' }],
    ['a name', 'acquire', { holder: 'x'.repeat(LEASES.maxHolder + 1) }],
    ['a duration', 'acquire', { expectedMs: -1 }],
    ['a fence to look after', 'acquire', { after: '-1.1' }],
    ['a fence', 'heartbeat', { fence: '1' }],
    ['a time', 'wait', { fence: '1.1', waitMs: -5 }],
    ['a reason', 'release', { fence: '1.1', reason: 'expired' }],
    ['a detail', 'release', { fence: '1.1', reason: 'done', detail: 'x'.repeat(LEASES.maxDetail + 1) }],
  ])('%s that is not valid is refused', async (_, method, fields) => {
    const { url } = await server();
    const send = await open(url);
    const valid = { namespace: '', key: KEY, id: 'a'.repeat(32) };
    await expect(send(method, { ...valid, ...fields })).rejects.toThrow(/^(400|INVALID_ARGUMENT) /);
  });
});

test('at two servers that share a store, a release at one ends a wait at the other', async () => {
  const store = addLayers(memoryEngine(), () => {});
  const [here, there] = [await server({ store }), await server({ store })];
  const one = runner('ci-7', overHttp(here.url));
  const other = runner('ci-8', overHttp(there.url));
  const { fence } = await one.acquire();
  const waited = other.wait(fence);
  await one.release(fence, 'cancelled');
  expect(await waited).toMatchObject({ outcome: 'ended', reason: 'cancelled' });
});

test('a holder that sends no heartbeats loses its lease, and one of those who wait is granted the next', async () => {
  let now = Date.now();
  const store = addLayers(
    memoryEngine(new Map(), () => now),
    () => {},
  );
  const { url } = await server({ store });
  const { fence } = await runner('dead', overHttp(url)).acquire();
  const waiting = Array.from({ length: 4 }, (_, number) => runner(`ci-${number}`, overHttp(url)));
  const waited = waiting.map((one) => one.wait(fence));
  now += 60_000;
  for (const answer of await Promise.all(waited))
    expect(answer).toMatchObject({ outcome: 'ended', reason: 'expired' });
  const outcomes = await Promise.all(waiting.map(async (one) => (await one.acquire()).outcome));
  expect(outcomes.sort()).toEqual(['granted', 'held', 'held', 'held']);
});

test('the server knows the duration of a step from its history, and a client may know better', async () => {
  const { url, store } = await server();
  const step = stepId('app', 'build');
  const at = Date.now();
  const name = { kind: STEP_KIND, namespace: DEFAULT_NAMESPACE, id: step, at };
  const ran = { namespace: '', run: 'r1', at: new Date(at).toISOString(), ranMs: 45_000 };
  await store.history?.put([documentOf(name, ran)]);
  const one = runner('ci-7', overHttp(url));
  const { fence, expectedMs } = await one.acquire({ step });
  expect(expectedMs).toBe(45_000);
  await one.release(fence, 'cancelled');
  expect((await one.acquire({ step, expectedMs: 7000 })).expectedMs).toBe(7000);
});

describe('with tokens', () => {
  const withTokens = async (store?: Store) => {
    const { url, ...more } = await server({ identities, ...(store && { store }) });
    const as = (token: string, name = token) => runner(name, overHttp(url, token));
    return {
      url,
      ...more,
      main: as('main'),
      pull: as('pull'),
      writer: as('writer'),
      reader: as('reader'),
      as,
    };
  };

  test('a pull request never waits for main’s lease, and main never for its own', async () => {
    const { main, pull } = await withTokens();
    const ofMain = await main.acquire();
    const ofPull = await pull.acquire();
    expect([ofMain.outcome, ofPull.outcome]).toEqual(['granted', 'granted']);
    expect((await pull.heartbeat(ofMain.fence)).outcome).toBe('lost');
    expect((await pull.release(ofMain.fence, 'failed')).outcome).toBe('lost');
    expect((await main.heartbeat(ofMain.fence)).outcome).toBe('held');
  });

  test('a pull request that waits for another run of its own takes what main publishes', async () => {
    const { main, pull, as } = await withTokens();
    const ofMain = await main.acquire();
    const ofPull = await pull.acquire();
    const waited = as('pull', 'pull-2').wait(ofPull.fence);
    await main.release(ofMain.fence, 'done');
    expect(await waited).toMatchObject({ outcome: 'published', fence: ofPull.fence });
  });

  test('also if main had no lease, and not if somebody else stored the key', async () => {
    const { url, pull, as } = await withTokens();
    const { fence } = await pull.acquire();
    const waited = as('pull', 'pull-2').wait(fence);
    const put = (token: string) =>
      ask(`${url}/ac/${KEY}`, 'PUT', {
        headers: { authorization: `Bearer ${token}` },
        body: Buffer.from(resultNaming()),
      });
    expect((await put('pull')).status).toBe(200);
    expect((await put('main')).status).toBe(200);
    expect(await waited).toMatchObject({ outcome: 'published' });
  });

  test('only who reads the namespace is told who holds a lease, and why it failed', async () => {
    const { main, writer } = await withTokens();
    const { fence } = await main.acquire();
    expect(await writer.acquire()).not.toHaveProperty('holder');
    expect(await main.wait(fence, 0)).toHaveProperty('holder', 'main');
    await main.release(fence, 'failed', 'exit code 2');
    expect(await writer.wait(fence)).toEqual(expect.not.objectContaining({ detail: expect.anything() }));
  });

  test('without the right, and at a read-only server, there are none', async () => {
    const { reader } = await withTokens();
    await expect(reader.acquire()).rejects.toThrow('403 ASSAY_FORBIDDEN');
    const { url } = await server({ readOnly: true });
    await expect(runner('ci-7', overHttp(url)).acquire()).rejects.toThrow('403 ASSAY_READ_ONLY');
    const { url: withoutWing } = await testServer();
    await expect(runner('ci-7', overHttp(withoutWing)).acquire()).rejects.toThrow('404 ASSAY_NOT_FOUND');
  });
});

test('a server that stops ends the waits, and the clients run', async () => {
  const { url, stop } = await server();
  const one = runner('ci-7', overHttp(url));
  const { fence } = await one.acquire();
  const waited = runner('ci-8', overHttp(url)).wait(fence);
  // The wait is there before the stop: it is answered at once otherwise.
  await runner('ci-9', overHttp(url)).wait(fence, 1);
  const stopped = stop();
  expect(await waited).toMatchObject({ outcome: 'none', why: 'the server stops' });
  await stopped;
});

test('/metrics counts who was granted a lease, who waited, who gave up, and what it saved', async () => {
  let now = Date.now();
  const engine = memoryEngine(new Map(), () => now);
  const { url } = await server({ store: addLayers(engine, () => {}) });
  const [one, other] = [runner('ci-7', overHttp(url)), runner('ci-8', overHttp(url))];
  const { fence } = await one.acquire();
  // Its answer was lost: it asks again, and is granted the same lease.
  await one.acquire();
  await other.acquire();
  await other.wait(fence, 1);
  const waited = other.wait(fence);
  now += 14_000;
  await one.release(fence, 'done');
  await waited;
  await other.acquire({ after: fence ?? '' });
  now += 60_000;
  await one.acquire();
  const text = (await ask(`${url}/metrics`)).body.toString();
  for (const line of [
    'assay_action_leases_total{event="granted"} 3',
    'assay_action_leases_total{event="held"} 1',
    'assay_action_leases_total{event="hedged"} 1',
    'assay_action_leases_total{event="waited"} 1',
    'assay_action_leases_total{event="expired"} 1',
    'assay_action_lease_saved_seconds_total 14',
    'assay_action_lease_waits 0',
  ])
    expect(text).toContain(line);
});
