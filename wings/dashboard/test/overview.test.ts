// What a team's view must not show: another tenant, a namespace whose name only begins like its own, and below its own
// namespace no blob, no log line and no result. Every address of /api/v1, every page, /metrics and /status are asked, with
// the ids, keys and namespaces of all others.
import { expect, test } from 'vitest';
import { digestOf, toWire } from '../../../core/digest.ts';
import { tenantIn } from '../../../core/namespace.ts';
import { Action, Command } from '../../../core/proto/generated/reapi.ts';
import type { Identity } from '../../../server/access/identity.ts';
import { identity, sourceOf } from '../../../test/server/access/identities.ts';
import { type Answer, ask } from '../../../test/server/rig.ts';
import { resultWith } from '../../../test/store/content.ts';
import { ROUTES } from '../api/api.ts';
import { PAGES } from '../pages/routes.ts';
import { miss, reportOf, step } from './reports.ts';
import { FOR_ADMINS, testServer } from './rig.ts';

/** Who writes where. The names begin like each other, and no name is a part of a path of another. */
const WHERE = {
  main: 'acme/app/main',
  pull: 'acme/app/pr/7',
  neighbour: 'acme/app2/main',
  shorter: 'acme/ap',
  rival: 'acme2/app/main',
  twin: 'acme2',
  stump: 'acm/app/main',
} as const;
type Owner = keyof typeof WHERE;

const OWNERS = Object.keys(WHERE) as Owner[];
const WRITERS = OWNERS.map((name) => identity(`token-${secretOf(name)}`, { namespace: WHERE[name] }));

/** Who looks on, and whose runs it sees. */
const VIEWERS: readonly (readonly [string, { namespace: string; rights: string }, readonly Owner[]])[] = [
  ['overview of acme', { namespace: 'acme', rights: 'overview' }, ['main', 'pull', 'neighbour', 'shorter']],
  ['all but overview of acme', { namespace: 'acme', rights: 'read-write' }, []],
  [
    'all of acme',
    { namespace: 'acme', rights: 'read-write,overview' },
    ['main', 'pull', 'neighbour', 'shorter'],
  ],
  ['overview of acme/app', { namespace: 'acme/app', rights: 'overview,stats' }, ['main', 'pull']],
  ['admin of acme/app', { namespace: 'acme/app', rights: 'read-write,admin' }, ['main', 'pull']],
  ['overview of acme/ap', { namespace: 'acme/ap', rights: 'read,overview' }, ['shorter']],
  ['overview of acme/app/pr', { namespace: 'acme/app/pr', rights: 'overview' }, ['pull']],
  ['overview of acme2', { namespace: 'acme2', rights: 'overview' }, ['rival', 'twin']],
  ['overview of everything', { namespace: '', rights: 'overview' }, []],
];
const LOOKERS = VIEWERS.map(([name, given]) => identity(tokenOf(name), given));

function tokenOf(name: string): string {
  return name.replaceAll(/[ /]/g, '-');
}

/** In all that an owner names. */
function secretOf(owner: Owner): string {
  return `secret-of-${owner}-`;
}

/** In what it printed and stored. */
function contentOf(owner: Owner): string {
  return `content-of-${owner}-`;
}

interface Made {
  readonly run: string;
  readonly key: string;
  readonly blobs: readonly string[];
}

type Send = (who: Identity, method: 'GET' | 'PUT' | 'POST', path: string, body?: Buffer) => Promise<Answer>;

/** Each has stored an action with a result, printed a log, and reported what makes all parts of all pages. */
async function use(send: Send, owner: Owner, who: Identity): Promise<Made> {
  const put = async (bytes: Buffer) => {
    const digest = digestOf(bytes);
    expect(await send(who, 'PUT', `/cas/${digest.hash}`, bytes)).toMatchObject({ status: 200 });
    return digest;
  };
  const nothing = new Uint8Array(0);
  const text = contentOf(owner);
  const log = await put(Buffer.from(`the log: ${text}`));
  const command = Command.encode({ ...Command.decode(nothing), arguments: [text] }).finish();
  const commandDigest = await put(Buffer.from(command));
  const root = toWire(await put(Buffer.from(`\n\0`)));
  const parts = { commandDigest: toWire(commandDigest), inputRootDigest: root };
  const action = Action.encode({ ...Action.decode(nothing), ...parts }).finish();
  const { hash: key } = await put(Buffer.from(action));
  expect(await send(who, 'GET', `/ac/${key}`)).toMatchObject({ status: 404 });
  expect(await send(who, 'PUT', `/ac/${key}`, resultWith({}))).toMatchObject({ status: 200 });
  expect(await send(who, 'GET', '/for-admins')).toMatchObject({ status: 403 });
  const name = secretOf(owner);
  const cause = { kind: 'input', name: `${name}input` } as const;
  const failed = { outcome: 'failed', exitCode: 3, why: `${name}why`, log, key, cause } as const;
  const findings = [{ kind: 'read', path: `${name}path`, detail: `${name}detail` }];
  const flaky = `${name}flaky`;
  const reports = [
    ...[1000, 1000, 1000, 2000, 2000, 2000].map((ms, at) =>
      reportOf([miss(`${name}slower`, cause, ms)], {
        commit: `${name}${at}`,
        repository: `${name}repository`,
      }),
    ),
    reportOf(
      [
        { ...step(flaky), ...failed },
        { ...miss(name, cause, 5), status: 'unproven', findings },
      ],
      {
        ...{ branch: `${name}branch`, repository: `${name}repository`, warnings: [`${name}warning`] },
        ...{
          job: `https://ci.example/${name}job`,
          where: `${name}where`,
          commit: `${name}commit`,
          exitCode: 3,
        },
      },
    ),
    reportOf([{ ...miss(flaky, { kind: 'failed-before' }, 5), key }], { repository: `${name}repository` }),
  ];
  for (const [minute, report] of reports.entries()) {
    const startedAt = new Date(Date.now() - (60 - minute) * 60_000).toISOString();
    const body = Buffer.from(JSON.stringify({ ...report, startedAt }));
    expect(await send(who, 'POST', '/api/v1/runs', body)).toMatchObject({ status: 201 });
  }
  return { run: reports.at(-2)?.id ?? '', key, blobs: [log.hash, commandDigest.hash, key] };
}

/** Every address, with the ids, keys and namespaces of everybody. */
function addresses(all: readonly Made[]): string[] {
  const filled = (path: string) => {
    if (path.includes(':id')) return all.map(({ run }) => path.replace(':id', run));
    if (path.includes(':key')) return all.map(({ key }) => path.replace(':key', key));
    return [path];
  };
  const namespaces = [...Object.values(WHERE), 'acme2/app/pr/…', 'acme/app/pr/…', 'acm', ''];
  const takes = (path: string, name: string) =>
    PAGES[path] !== undefined ||
    ROUTES.some(({ url: one, query }) => one === path && query?.[name] !== undefined);
  const bare = [...ROUTES.map((one) => one.url), ...Object.keys(PAGES), '/metrics', '/status'];
  return bare.flatMap((path) => {
    const found = filled(path);
    const narrowed = takes(path, 'namespace') ? namespaces : [];
    const compared = path.endsWith('/difference') || path === '/action/:key' ? all.map(({ key }) => key) : [];
    return [
      ...found,
      ...found.flatMap((one) => narrowed.map((name) => `${one}?namespace=${encodeURIComponent(name)}`)),
      ...found.flatMap((one) => compared.map((key) => `${one}?to=${key}`)),
    ];
  });
}

test.each(VIEWERS)('%s: no address shows what it must not see', async (name, given, sees) => {
  const { url } = await testServer({
    wings: [FOR_ADMINS],
    identities: { ...sourceOf(...WRITERS, ...LOOKERS), listed: () => [...WRITERS, ...LOOKERS] },
  });
  const send: Send = (who, method, path, body) => {
    const headers = { authorization: `Bearer ${who.name}`, accept: 'text/html, */*' };
    return ask(url + path, method, { headers, ...(body && { body }) });
  };
  const viewer = LOOKERS.find((one) => one.name === tokenOf(name));
  if (!viewer) throw new Error('no such viewer');
  const made: Made[] = [];
  for (const [at, owner] of OWNERS.entries()) made.push(await use(send, owner, WRITERS[at] ?? viewer));
  const isOfTenant = (owner: Owner) => tenantIn(WHERE[owner]) === tenantIn(given.namespace);
  const mayReadBlobs = viewer.rights.has('blobs:read');
  /* By a digest, blobs:read reads what its tenant has. An admin reads what lies below its namespace, logs too. */
  const mayReadContent = (owner: Owner) => mayReadBlobs && isOfTenant(owner);
  const mayReadLog = (owner: Owner) =>
    mayReadBlobs &&
    (WHERE[owner] === given.namespace || (viewer.rights.has('admin') && sees.includes(owner)));

  const shown = new Set<Owner>();
  for (const address of addresses(made)) {
    const { status, body, headers } = await send(viewer, 'GET', address);
    const text = `${JSON.stringify(headers)}\n${body}`;
    const found = OWNERS.filter((owner) => text.includes(secretOf(owner)));
    for (const owner of found) shown.add(owner);
    const wrong = [
      ...found.filter((owner) => !sees.includes(owner)),
      ...OWNERS.filter((owner) => text.includes(contentOf(owner)) && !mayReadContent(owner)),
      ...OWNERS.filter((owner) => text.includes(`the log: ${contentOf(owner)}`) && !mayReadLog(owner)),
    ];
    expect({ address, wrong, isAnswer: status < 500 }).toEqual({ address, wrong: [], isAnswer: true });
  }
  expect([...shown].sort()).toEqual([...sees].sort());

  for (const [at, owner] of OWNERS.entries()) {
    const { key = '', blobs = [] } = made[at] ?? {};
    const asked = [...blobs.map((hash) => `/cas/${hash}`), `/ac/${key}`, `/${WHERE[owner]}/ac/${key}`];
    for (const address of asked) {
      const isBlob = address.startsWith('/cas');
      const mayRead = isBlob ? mayReadContent(owner) : mayReadBlobs && WHERE[owner] === given.namespace;
      const { status } = await send(viewer, 'GET', address);
      if (!mayRead) expect({ address, status }).toEqual({ address, status: expect.toBeOneOf([403, 404]) });
    }
  }
});
