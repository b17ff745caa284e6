// Valid requests of every protocol, sent with almost correct credentials to a server that requires a token,
// and without credentials to a server that accepts no writes.
// The server rejects each of them, and none of them stores anything.
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { frame } from '../../core/grpc/frame.ts';
import { parseNamespace } from '../../core/namespace.ts';
import { isWrite, RIGHTS } from '../../server/access/rights.ts';
import { makeToken, updateTokens } from '../../server/access/tokens-file.ts';
import { assetMethods } from '../../server/protocols/asset/adapter.ts';
import { pathSetMethods } from '../../server/protocols/path-sets/methods.ts';
import { reapiMethods } from '../../server/protocols/reapi/adapter.ts';
import { Workshop } from '../rig/assay.ts';
import { type CallHeaders, GrpcClient } from '../rig/grpc.ts';
import { Random } from '../rig/random.ts';
import { ServerProcess } from '../rig/server.ts';
import { temporaryFolder } from '../rig/stores/disk-store.ts';
import { FuzzConnection } from './fuzz/connection.ts';
import { grpcTargets } from './fuzz/grpc-targets.ts';
import { httpTargets } from './fuzz/http-targets.ts';
import type { FuzzRequest } from './fuzz/request.ts';

const SEED = 20_261_115;
const REQUESTS = 800;
const TOKEN = 'a-long-token-0123456789';
const RIGHT = { authorization: `Bearer ${TOKEN}` };
/** GitHub's cache denies in a message with status 200, Gradle and Rush with 202 (docs/decisions/0288). */
const DENIALS: Readonly<Record<string, string>> = {
  actions: 'cache write denied: ',
  gradle: 'ASSAY_READ_ONLY',
  rush: 'ASSAY_READ_ONLY',
};
const METHODS = new Map([...reapiMethods, ...assetMethods, ...pathSetMethods]);

const base64 = (text: string) => Buffer.from(text).toString('base64');

const ALMOST: readonly CallHeaders[] = [
  {},
  { authorization: '' },
  { authorization: 'Bearer' },
  { authorization: `Bearer ${TOKEN}x` },
  { authorization: `Bearer ${TOKEN.toUpperCase()}` },
  { authorization: `Bearer ${TOKEN}, Bearer ${TOKEN}` },
  { authorization: `Bearer "${TOKEN}"` },
  { authorization: `Bearer=${TOKEN}` },
  { authorization: `Digest ${TOKEN}` },
  { authorization: `Basic ${TOKEN}` },
  { authorization: `Basic ${base64(`${TOKEN}:`)}` },
  { authorization: `Basic ${base64(TOKEN)}` },
  { authorization: `Bearer ${base64(TOKEN)}` },
  { authorization: `AWS4-HMAC-SHA256 Credential=${TOKEN}/20261115/auto/s3/aws4_request` },
  { 'authorization-bin': base64(`Bearer ${TOKEN}`) },
  { 'proxy-authorization': `Bearer ${TOKEN}` },
  { 'x-authorization': `Bearer ${TOKEN}`, token: TOKEN, cookie: `authorization=Bearer ${TOKEN}` },
];
/** Headers that no client library sends: the field twice, or folded onto a second line. */
const ALMOST_BY_HAND: readonly CallHeaders[] = [
  { authorization: `Bearer x\r\nAuthorization: Bearer ${TOKEN}` },
  { authorization: `Bearer\r\n ${TOKEN}x` },
  { 'authorization ': `Bearer ${TOKEN}` },
];

/** The statuses of reading and of writing requests, by the target that they were sent to. */
type Statuses = Record<'reads' | 'writes', Map<string, Set<string>>>;

class Trial {
  readonly statuses: Statuses = { reads: new Map(), writes: new Map() };
  readonly #url: string;
  readonly #random = new Random(SEED);
  readonly #credentials: readonly CallHeaders[];

  constructor({ url }: ServerProcess, credentials: readonly CallHeaders[]) {
    this.#url = url;
    this.#credentials = credentials;
  }

  async overHttp(): Promise<this> {
    const connection = new FuzzConnection(Number(new URL(this.#url).port));
    onTestFinished(() => connection.close());
    const targets = await httpTargets(this.#random);
    for (let sent = 0; sent < REQUESTS; sent++) {
      const target = this.#random.pick(targets);
      const request = target.next();
      if (isForEverybody(request)) continue;
      const headers = { ...request.headers, ...this.#random.pick(this.#credentials) };
      const { status, body } = await connection.send({ ...request, headers });
      target.received?.(body);
      const denial = DENIALS[target.name];
      const isDenied = denial !== undefined && [200, 202].includes(status ?? 0) && body.includes(denial);
      this.#record(isWriting(request), target.name, isDenied ? 'denied' : String(status));
    }
    return this;
  }

  async overGrpc(): Promise<this> {
    const client = await GrpcClient.to(this.#url);
    onTestFinished(() => client.close());
    const targets = grpcTargets(this.#random);
    const calls = [
      ...[...METHODS.keys()].flatMap(spellings).map((path) => ({ path, messages: [Buffer.alloc(0)] })),
      ...Array.from({ length: REQUESTS }, () => this.#random.pick(targets).next()),
    ];
    for (const { path, messages } of calls) {
      const call = client.open(path, this.#random.pick(this.#credentials));
      call.stream.end(Buffer.concat(messages.map((message) => frame(message))));
      const needs = METHODS.get(path)?.needs;
      this.#record(needs !== undefined && isWrite(needs), path, (await call.answer()).status);
    }
    return this;
  }

  /** Every status that any request got. */
  get all(): string[] {
    return [
      ...new Set(
        [...this.statuses.reads.values(), ...this.statuses.writes.values()].flatMap((set) => [...set]),
      ),
    ];
  }

  #record(isWriting: boolean, name: string, status: string): void {
    const about = this.statuses[isWriting ? 'writes' : 'reads'];
    about.set(name, (about.get(name) ?? new Set()).add(status));
  }
}

/** Only the first spelling is the method. A server that accepts another one could skip the access check. */
function spellings(path: string): string[] {
  const [, service, method] = path.split('/');
  const odd = [
    `/${path}`,
    `${path}/`,
    `${path}?`,
    `${path}%20`,
    `/${service}//${method}`,
    `/${service}/./${method}`,
  ];
  return [path, path.toLowerCase(), path.replace('.', '%2e'), ...odd];
}

/** Turborepo sends OPTIONS before it sends its token; these pages contain nothing secret. */
function isForEverybody({ method, path }: FuzzRequest): boolean {
  return method === 'OPTIONS' || ['/', '/healthz', '/status'].includes(path);
}

/** Includes the calls that ask for permission to write. Turborepo's POST only queries artifacts. */
function isWriting({ method, path }: FuzzRequest): boolean {
  if (method === 'POST') return /CreateCacheEntry|Finalize/.test(path);
  return method === 'PUT' || method === 'MKCOL';
}

/** The server, and what its store holds. Its bytes would not do: the server itself writes figures into its index. */
interface Trying {
  readonly server: ServerProcess;
  stored(): Promise<{ blobs: number; results: number }>;
}

async function serverWith(...args: readonly string[]): Promise<Trying> {
  const env: Record<string, string> = args.includes('--read-only') ? {} : { ASSAY_TOKEN: TOKEN };
  const shop = new Workshop();
  const server = await ServerProcess.start(shop.store, { args, env });
  onTestFinished(async () => {
    await server.stop();
    shop.remove();
  });
  const stored = async () => {
    const { stdout } = await shop.assay(['verify', '--json']);
    const { blobs, results } = JSON.parse(stdout);
    return { blobs, results };
  };
  return { server, stored };
}

test('an almost correct token grants nothing on any protocol, and the correct one grants everything', async () => {
  const { server, stored } = await serverWith();
  const before = await stored();
  const overHttp = await new Trial(server, [...ALMOST, ...ALMOST_BY_HAND]).overHttp();
  /** 403: an unsigned URL. Malformed HTTP gets 400, or no response after an earlier one. */
  expect(['400', '401', '403', 'undefined']).toEqual(expect.arrayContaining(overHttp.all));
  expect((await new Trial(server, ALMOST).overGrpc()).all).toEqual(['UNAUTHENTICATED']);
  expect(await stored()).toEqual(before);
  const right = await new Trial(server, [RIGHT]).overHttp();
  expect(right.all).not.toContain('401');
  for (const answers of right.statuses.writes.values()) expect([...answers].join(' ')).toMatch(/20[012]/);
  expect((await new Trial(server, [RIGHT]).overGrpc()).all).not.toContain('UNAUTHENTICATED');
  const after = await stored();
  expect(after.blobs).toBeGreaterThan(before.blobs);
  expect(after.results).toBeGreaterThan(before.results);
});

test('a server started without write access refuses writes on every protocol', async () => {
  const { server, stored } = await serverWith('--read-only');
  const before = await stored();
  const overHttp = await new Trial(server, [{}, RIGHT]).overHttp();
  const overGrpc = await new Trial(server, [{}, RIGHT]).overGrpc();
  const refusals: Readonly<Record<string, readonly string[]>> = {
    actions: ['403', 'denied'],
    gradle: ['denied'],
    rush: ['denied'],
  };
  for (const [name, answers] of overHttp.statuses.writes)
    expect({ name, answers: [...answers].sort() }).toEqual({ name, answers: refusals[name] ?? ['403'] });
  for (const answers of overGrpc.statuses.writes.values())
    expect([...answers]).toEqual(['PERMISSION_DENIED']);
  for (const [path, answers] of overGrpc.statuses.reads)
    if (!METHODS.has(path)) expect([...answers]).toEqual(['UNIMPLEMENTED']);
  expect(await stored()).toEqual(before);
});

test('what the file of tokens holds, and tokens that have ended, grant nothing on any protocol', async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'tokens.json');
  const about = { namespace: parseNamespace('acme'), reads: [], rights: RIGHTS };
  const now = Date.now();
  const valid = makeToken({ name: 'valid', ...about }, now);
  const expired = makeToken({ name: 'expired', ...about, expiresAt: now - 1 }, now - 1000);
  const revoked = makeToken({ name: 'revoked', ...about }, now);
  await updateTokens(file, () => [valid.entry, expired.entry, { ...revoked.entry, revokedAt: now }]);
  const { server, stored } = await serverWith('--tokens', file);
  const before = await stored();
  const { id, name, sha256 } = valid.entry;
  const almost = [id, name, sha256, valid.token.slice(0, -1), `${valid.token}0`, valid.token.toUpperCase()];
  const wrong = [...almost, expired.token, revoked.token].flatMap((token) => [
    { authorization: `Bearer ${token}` },
    { authorization: `Basic ${base64(`user:${token}`)}` },
  ]);
  expect(['400', '401', '403', 'undefined']).toEqual(
    expect.arrayContaining((await new Trial(server, wrong).overHttp()).all),
  );
  expect((await new Trial(server, wrong).overGrpc()).all).toEqual(['UNAUTHENTICATED']);
  expect(await stored()).toEqual(before);
  const right = await new Trial(server, [{ authorization: `Bearer ${valid.token}` }]).overHttp();
  for (const answers of right.statuses.writes.values()) expect([...answers].join(' ')).toMatch(/20[012]/);
});
