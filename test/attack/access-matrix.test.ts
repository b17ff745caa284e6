// The access matrix: each kind of identity sends every example of every address with every method. The addresses
// come from the server's own tables (access/surface.ts), and one rule for each identity says what must hold.
import { expect, test } from 'vitest';
import { RUNS_FORM, RUNS_HEADER } from '../../core/metadata/run-report.ts';
import { showsMark } from './access/content.ts';
import { GRPC_EXAMPLES } from './access/grpc-examples.ts';
import { HTTP_EXAMPLES } from './access/http-examples.ts';
import { GRPC, httpAddresses } from './access/surface.ts';
import { ANONYMOUS, isWithin, type Reply, UNSIGNED, VIEWER_NAMES, World } from './access/world.ts';

const MAIN_NAMESPACE = 'acme/app/main';
const PULL_NAMESPACE = 'acme/app/pr/1';
const OTHER_NAMESPACE = 'rival/app/main';

async function worldOfMain(): Promise<World> {
  const world = await (await World.open()).prepare();
  world.changes.length = 0;
  return world;
}

function showing(replies: readonly Reply[], writer: string): string[] {
  return replies.filter(({ bytes }) => showsMark(bytes, writer)).map(({ to, status }) => `${to}: ${status}`);
}

function byRequest(replies: readonly Reply[]): string[] {
  return replies.map(({ to, status, text }) => `${to} -> ${status} ${text}`);
}

/** Without the answers that describe the token of the request. */
function byRequestOfAny(replies: readonly Reply[]): string[] {
  return byRequest(replies.filter(({ to }) => !OWN_TOKEN.test(to)));
}

const OWN_TOKEN = /^(GET|HEAD) \/api\/v1\/token /;

test('each address of the server has an example, and each example an address', async () => {
  const addresses = (await httpAddresses()).map(({ name }) => name);
  expect(Object.keys(HTTP_EXAMPLES).sort()).toEqual(addresses.sort());
  expect(Object.keys(GRPC_EXAMPLES).sort()).toEqual([...GRPC.keys()].sort());
});

test.each([ANONYMOUS, 'revoked', 'expired', 'a-stranger'])(
  '%s gets 401 from everything but the public pages',
  async (name) => {
    const world = await worldOfMain();
    if (name === 'revoked') {
      expect(showing(await world.readEverything(name), 'main').length).toBeGreaterThan(20);
      world.revoke(name);
      world.changes.length = 0;
    }
    const before = await world.dump();
    for (const request of world.requests()) {
      const reply = await world.send(name, request);
      const { credential } = request.example;
      if (request.address.publicMethods.includes(request.method)) {
        expect(reply, reply.to).toMatchObject({ status: expect.stringMatching(/^[234]/) });
      } else if (credential === 'signed-url') expect(UNSIGNED, reply.to).toContain(reply.status);
      else expect(reply, reply.to).toMatchObject({ status: '401' });
      expect(showsMark(reply.bytes, 'main'), reply.to).toBe(false);
    }
    for (const path of GRPC.keys())
      for (const reply of await world.callsOf(path, name))
        expect(reply, reply.to).toMatchObject({ status: 'UNAUTHENTICATED' });
    expect(world.changes).toEqual([]);
    expect(await world.dump()).toEqual(before);
  },
  120_000,
);

test('a reader reads what main reads, and changes nothing', async () => {
  const world = await worldOfMain();
  const ofMain = new Map((await world.readEverything('main')).map((reply) => [reply.to, reply]));
  const read = await world.readEverything('reader');
  for (const { to, status, text } of read)
    if (!['403', 'PERMISSION_DENIED'].includes(status) && to !== CAPABILITIES && !OWN_TOKEN.test(to))
      expect({ to, text }).toEqual({ to, text: ofMain.get(to)?.text.replace(ANNOUNCEMENT, '') });
  expect(showing(read.filter(isLasting), 'main')).toEqual(
    showing([...ofMain.values()].filter(isLasting), 'main'),
  );
  world.changes.length = 0;
  const before = await world.dump();
  await world.sendEverything('reader');
  expect(world.changes).toEqual([]);
  expect(await world.dump()).toEqual(before);
});

/** What a live answer shows ends after a minute, which a busy machine needs for all of these requests. */
const isLasting = ({ text }: Reply) => text !== '';

/** These say what the identity may do. */
const ANNOUNCEMENT = `${RUNS_HEADER}: ${RUNS_FORM}\n`;
const CAPABILITIES = '/build.bazel.remote.execution.v2.Capabilities/GetCapabilities 0';

test('a writer gets no byte of content, not even of its own', async () => {
  const world = await worldOfMain();
  const replies = await world.sendEverything('writer');
  expect(showing(replies, 'main')).toEqual([]);
  expect(world.changes.length).toBeGreaterThan(50);
  /** REAPI: the response of an update is the result that the request had. */
  for (const { to, status } of replies.filter(({ bytes }) => showsMark(bytes, 'writer')))
    expect({ to, status }).toEqual({ to: expect.stringContaining('UpdateActionResult'), status: 'OK' });
});

test('a pull request reads main’s, and main’s is byte for byte the same after all that it sends', async () => {
  const world = await worldOfMain();
  const before = byRequestOfAny(await world.readEverything('main'));
  expect(byRequestOfAny(await world.readEverything('pull'))).toEqual(before);
  const dump = await world.dump(MAIN_NAMESPACE);
  expect(dump.length).toBeGreaterThan(20);
  world.changes.length = 0;
  await world.sendEverything('pull');
  expect(world.changes.length).toBeGreaterThan(50);
  for (const { kind, tenant, where } of world.changes) {
    expect(tenant).toBe(PULL_NAMESPACE);
    if (kind === 'upload') expect(where).toMatch(/^acme\/app\/pr\/1= /);
    else if (kind !== 'blob') expect(isWithin(where, PULL_NAMESPACE), where).toBe(true);
  }
  expect(await world.dump(MAIN_NAMESPACE)).toEqual(dump);
  expect(byRequestOfAny(await world.readEverything('main'))).toEqual(before);
  expect(byRequestOfAny(await world.readEverything('sibling'))).toEqual(before);
  expect(showing(await world.sendEverything('sibling'), 'pull')).toEqual([]);
  const own = await world.readEverything('pull');
  expect(showing(own, 'pull').length).toBeGreaterThan(10);
  expect(showing(own, 'sibling')).toEqual([]);
});

test.each(['pull-admin', 'other-admin'])(
  '%s, with all rights, changes nothing of main’s',
  async (name) => {
    const world = await worldOfMain();
    const before = byRequest(await world.readEverything('main'));
    const dump = await world.dump(MAIN_NAMESPACE);
    await world.sendEverything(name);
    expect(await world.dump(MAIN_NAMESPACE)).toEqual(dump);
    expect(byRequest(await world.readEverything('main'))).toEqual(before);
  },
  120_000,
);

test('another tenant gets the answers of a server on which acme has stored nothing', async () => {
  const world = await worldOfMain();
  const empty = await World.open();
  const dump = await world.dump(MAIN_NAMESPACE);
  /** What an admin is told about the results of the store. */
  for (const request of world.requests(['GET', 'POST']))
    if (request.address.name.startsWith('fastify /admin/')) {
      const told = [await world.send('other-admin', request), await empty.send('other-admin', request)];
      expect(told[0]?.text, request.example.path).toBe(told[1]?.text);
    }
  const replies = [...(await world.sendEverything('other')), ...(await world.readEverything('other'))];
  const fromEmpty = [...(await empty.sendEverything('other')), ...(await empty.readEverything('other'))];
  expect(byRequest(replies)).toEqual(byRequest(fromEmpty));
  expect(showing(replies, 'main')).toEqual([]);
  for (const { kind, tenant, where } of world.changes) {
    expect(tenant).toBe(OTHER_NAMESPACE);
    if (kind === 'upload') expect(where).toMatch(/^rival\/app\/main= /);
    else if (kind !== 'blob') expect(isWithin(where, OTHER_NAMESPACE), where).toBe(true);
  }
  expect(await world.dump(MAIN_NAMESPACE)).toEqual(dump);
});

test('another tenant, with each right that shows something, sees nothing of acme or of the server', async () => {
  const world = await worldOfMain();
  const empty = await World.open();
  for (const name of ['main', 'pull']) await world.sendEverything(name);
  let compared = 0;
  for (const name of VIEWER_NAMES)
    for (const request of world.requests(['GET'])) {
      const [told, fromEmpty] = [await world.send(name, request), await empty.send(name, request)];
      const to = `${name}: ${told.to}`;
      expect(told.status, to).toBe(fromEmpty.status);
      const seen = told.bytes.toString('latin1');
      /* The pages of the documentation, if they were built, have such names in their examples. */
      if (!request.example.path.startsWith('/docs')) expect(seen, to).not.toMatch(SECRETS);
      if (/content-type: text\/html/.test(seen) || request.example.path.startsWith('/api/v1/runs')) continue;
      compared++;
      expect(steady(seen), to).toBe(steady(fromEmpty.bytes.toString('latin1')));
    }
  expect(compared).toBeGreaterThan(200);
});

/** Names of acme, and what is of the whole server. A request may name acme itself, at its end. */
const SECRETS =
  /acme(?!\/app\/main"?\}?$)|pull(?!Requests| requests?\b)|sibling|the\/folder|987654321|987\.7/;

/** Without times and what is random. Requests that belong together become a run when a server next writes. */
function steady(text: string): string {
  return (
    text
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'TIME')
      .replace(/"(medianMs|p99Ms)":[\d.]+/g, '"$1":0')
      .replace(/"(position|run)":"[^"]*"/g, '"$1":""')
      .replace(/"newestRuns":.*/, '')
      // Its own, which are written later than they are refused.
      .replace(/"deniedWrites":\[.*?\]/, '"deniedWrites":[]')
      .replace(/content-length: \d+/g, '')
  );
}
