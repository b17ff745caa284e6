// A credential that was used a moment before is refused as soon as it is revoked, expired or replaced.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { parseFlags } from '../../../core/cli/command.ts';
import { parseNamespace } from '../../../core/namespace.ts';
import { type AccessControl, accessControl } from '../../../server/access/access-control.ts';
import { Identities } from '../../../server/access/identities.ts';
import type { Identity, IdentitySource } from '../../../server/access/identity.ts';
import { ShortTokens } from '../../../server/access/short-tokens.ts';
import { TokenSource } from '../../../server/access/token-source.ts';
import { makeToken, type TokenEntry, updateTokens } from '../../../server/access/tokens-file.ts';
import { AccessSources } from '../../../server/config/access.ts';
import { SERVE_FLAGS } from '../../../server/config/flags.ts';
import { readSettings } from '../../../server/config/settings.ts';
import { ACCESS } from '../../../server/limits.ts';

const LOG = pino({ level: 'silent' });
let folder = '';
let file = '';
let now = 1_700_000_000_000;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-access-'));
  file = join(folder, 'tokens.json');
  now = 1_700_000_000_000;
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

async function add(name: string, more: Partial<TokenEntry> = {}, at = file): Promise<string> {
  const wanted = { name, namespace: parseNamespace('acme/app'), reads: [], rights: ['stats'] as const };
  const { token, entry } = makeToken({ ...wanted, ...more }, now);
  await updateTokens(at, (entries) => [...entries, entry]);
  return token;
}

function change(more: Partial<TokenEntry>): Promise<void> {
  return updateTokens(file, (entries) => entries.map((entry) => ({ ...entry, ...more })));
}

/** A server with the tokens file and with short tokens. */
function opened(): { access: AccessControl; source: TokenSource; identities: Identities } {
  const source = new TokenSource({ file, log: LOG, now: () => now });
  const shortTokens = new ShortTokens(
    () => Buffer.alloc(32, 1),
    () => now,
  );
  const identities = new Identities({ own: [source], shortTokens, now: () => now });
  return { access: accessControl({ identities, now: () => now }), source, identities };
}

/** Each way in which a client sends a token. */
function seen(access: AccessControl, token: string): (string | undefined)[] {
  const basic = `Basic ${Buffer.from(`user:${token}`).toString('base64')}`;
  return [access.ofHeader(`Bearer ${token}`), access.ofHeader(basic), access.ofToken(token)].map(
    (identity) => identity?.name,
  );
}

const ADMITTED = ['ci', 'ci', 'ci'];
const REFUSED = [undefined, undefined, undefined];

test('a token is refused from the reload on that revokes it', async () => {
  const token = await add('ci');
  const { access, source } = opened();
  expect([seen(access, token), seen(access, token)]).toEqual([ADMITTED, ADMITTED]);
  await change({ revokedAt: now });
  source.reload();
  expect(seen(access, token)).toEqual(REFUSED);
});

test('a token has its new rights from the reload on that changes them', async () => {
  const token = await add('ci');
  const { access, source } = opened();
  const rights = () => [...(access.ofHeader(`Bearer ${token}`)?.rights ?? [])];
  expect(rights()).toEqual(['stats']);
  await change({ rights: ['blobs:read'] });
  source.reload();
  expect(rights()).toEqual(['blobs:read']);
});

test('a token ends at its time, without a reload, and stays ended', async () => {
  const token = await add('ci', { expiresAt: now + 1000 });
  const { access } = opened();
  expect(seen(access, token)).toEqual(ADMITTED);
  now += 999;
  expect(seen(access, token)).toEqual(ADMITTED);
  now += 1;
  expect([seen(access, token), seen(access, token)]).toEqual([REFUSED, REFUSED]);
});

test('a short token ends with its own time, with a revoked parent, and with a parent that ends sooner', async () => {
  const parent = await add('ci');
  const { access, source, identities } = opened();
  const short = async () => (await identities.exchange({ subjectToken: parent, from: 'server' })).token;
  const first = await short();
  expect([seen(access, first), seen(access, first)]).toEqual([ADMITTED, ADMITTED]);
  await change({ expiresAt: now + 5000 });
  source.reload();
  expect(seen(access, first)).toEqual(ADMITTED);
  now += 5000;
  expect(seen(access, first)).toEqual(REFUSED);
  await change({ expiresAt: undefined });
  source.reload();
  const second = await short();
  expect(seen(access, second)).toEqual(ADMITTED);
  await change({ revokedAt: now });
  source.reload();
  expect(seen(access, second)).toEqual(REFUSED);
  await change({ revokedAt: undefined });
  source.reload();
  expect(seen(access, second)).toEqual(ADMITTED);
  now += ACCESS.maxShortTokenMs;
  expect(seen(access, second)).toEqual(REFUSED);
});

test('a token of another tokens file is refused from the configuration’s reload on', async () => {
  const other = join(folder, 'other.json');
  const [token, otherToken] = [await add('ci'), await add('ci', {}, other)];
  const settings = (tokens: string) => {
    const flags = ['--store', join(folder, 'store'), '--tokens', tokens];
    return readSettings(parseFlags(flags, SERVE_FLAGS), { HOME: folder });
  };
  const identities = new AccessSources(settings(file), () => Buffer.alloc(32, 1), LOG);
  const access = accessControl({ identities });
  expect([seen(access, token), seen(access, otherToken)]).toEqual([ADMITTED, REFUSED]);
  identities.prepare(settings(other))();
  expect([seen(access, token), seen(access, otherToken)]).toEqual([REFUSED, ADMITTED]);
  identities.prepare(settings(file))();
  expect([seen(access, token), seen(access, otherToken)]).toEqual([ADMITTED, REFUSED]);
});

test('a source that can’t tell of changes is asked for each request', () => {
  let answers: Identity[] = [];
  const identities: IdentitySource = { identify: () => answers.pop() };
  const access = accessControl({ identities });
  const ci: Identity = { name: 'ci', rights: new Set(), namespace: parseNamespace('acme'), reads: [] };
  answers = [ci];
  expect(access.ofHeader('Bearer t')).toBe(ci);
  expect(access.ofHeader('Bearer t')).toBeUndefined();
});

test('a source is asked once for a credential that it knows, until it has another version', () => {
  let asked = 0;
  let version = 1;
  const ci: Identity = { name: 'ci', rights: new Set(), namespace: parseNamespace('acme'), reads: [] };
  const identities: IdentitySource = {
    identify: (token) => {
      asked++;
      return token === 't' ? ci : undefined;
    },
    get version() {
      return version;
    },
  };
  const access = accessControl({ identities });
  for (let request = 0; request < 5; request++) access.ofHeader('Bearer t');
  expect(asked).toBe(1);
  for (let request = 0; request < 5; request++) access.ofHeader('Bearer unknown');
  expect(asked).toBe(6);
  version++;
  access.ofHeader('Bearer t');
  expect(asked).toBe(7);
});

test('each of more credentials than are remembered has its own identity', () => {
  const { access, identities } = withShortTokens();
  const tokens = Array.from({ length: ACCESS.maxKnownCredentials + 10 }, (_, number) =>
    identities.issue({ ...JOB, name: `job-${number}` }),
  );
  const names = () => tokens.map(({ token }) => access.ofHeader(`Bearer ${token}`)?.name);
  const expected = tokens.map((_, number) => `job-${number}`);
  expect([names(), names()]).toEqual([expected, expected]);
});

const JOB = {
  name: 'job',
  rights: new Set(['stats'] as const),
  namespace: parseNamespace('acme/app'),
  reads: [],
  expiresAt: 1_700_000_000_000 + 60_000,
};

function withShortTokens(): { access: AccessControl; identities: ShortTokens } {
  const shortTokens = new ShortTokens(
    () => Buffer.alloc(32, 1),
    () => now,
  );
  const identities = new Identities({ own: [], shortTokens, now: () => now });
  return { access: accessControl({ identities, now: () => now }), identities: shortTokens };
}
