// All sources of identities as one, and the exchange of a token for a short one.
import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { parseNamespace } from '../../../core/namespace.ts';
import { type ExchangeRequest, Identities, type Issuers } from '../../../server/access/identities.ts';
import type { Identity, IdentitySource } from '../../../server/access/identity.ts';
import { ShortTokens } from '../../../server/access/short-tokens.ts';
import { ACCESS } from '../../../server/limits.ts';

const NOW = 1_800_000_000_500;

const READER: Identity = {
  name: 'reader',
  rights: new Set(['results:read', 'blobs:read']),
  namespace: parseNamespace('acme/app'),
  reads: [],
};

const FILE = sourceOf(READER);

/** A tokens file with one token. */
function sourceOf(identity: Identity, isValid: () => boolean = () => true): IdentitySource {
  const identifyHash = (sha256: string) =>
    sha256 === hash('sha256', 'from-the-file') && isValid() ? identity : undefined;
  return { identifyHash, identify: (token) => identifyHash(hash('sha256', token)) };
}

function identities(own: readonly IdentitySource[] = [FILE], issuers?: Issuers): Identities {
  const now = (): number => NOW;
  return new Identities({ own, issuers, now, shortTokens: new ShortTokens(() => Buffer.alloc(32, 1), now) });
}

const EXCHANGE: ExchangeRequest = { subjectToken: 'from-the-file', from: 'server' };

test('a token of each source is known, and no other', async () => {
  const all = identities();
  const { token } = await all.exchange(EXCHANGE);
  expect(all.identify('from-the-file')).toBe(READER);
  expect(all.identify(token)?.name).toBe('reader');
  expect(all.identify('another')).toBeUndefined();
});

test('an exchanged token has what its subject has, for an hour', async () => {
  const { identity, expiresAt } = await identities().exchange(EXCHANGE);
  expect(identity).toEqual({ ...READER, expiresAt });
  expect(expiresAt).toBeLessThanOrEqual(NOW + ACCESS.maxShortTokenMs);
  expect(expiresAt).toBeGreaterThan(NOW + ACCESS.maxShortTokenMs - 1000);
});

test('an exchanged token does not outlive its subject', async () => {
  const ending = { ...READER, expiresAt: NOW + 5000 };
  const { expiresAt } = await identities([sourceOf(ending)]).exchange(EXCHANGE);
  expect(expiresAt).toBeLessThanOrEqual(NOW + 5000);
});

test('an exchanged token ends when its subject is revoked', async () => {
  let isValid = true;
  const all = identities([sourceOf(READER, () => isValid)]);
  const { token, accessKey } = await all.exchange(EXCHANGE);
  expect([all.identify(token)?.name, all.identifyAccessKey(accessKey)?.identity.name]).toEqual([
    'reader',
    'reader',
  ]);
  isValid = false;
  expect([all.identify(token), all.identifyAccessKey(accessKey)]).toEqual([undefined, undefined]);
});

test('a scope takes rights away and adds none', async () => {
  const all = identities();
  const narrow = await all.exchange({ ...EXCHANGE, scope: new Set(['blobs:read', 'admin']) });
  expect([...narrow.identity.rights]).toEqual(['blobs:read']);
  expect([...(all.identify(narrow.token)?.rights ?? [])]).toEqual(['blobs:read']);
  await expect(all.exchange({ ...EXCHANGE, scope: new Set(['admin']) })).rejects.toThrow('ASSAY_TOKEN_SCOPE');
});

test('a short token can’t be exchanged again', async () => {
  const all = identities();
  const { token } = await all.exchange(EXCHANGE);
  await expect(all.exchange({ subjectToken: token, from: 'server' })).rejects.toThrow('ASSAY_TOKEN_REFUSED');
});

test('an unknown token, and an issuer’s token where no issuer is trusted, are refused', async () => {
  await expect(identities().exchange({ subjectToken: 'x', from: 'server' })).rejects.toThrow(
    'ASSAY_TOKEN_REFUSED',
  );
  await expect(identities().exchange({ subjectToken: 'x', from: 'issuer' })).rejects.toThrow(
    'trusts no issuer',
  );
});

test('a token of the file is no token of an issuer', async () => {
  const issuers: Issuers = {
    identify: async (token, audience) => ({
      ...READER,
      name: `${token} for ${audience}`,
      expiresAt: NOW + 60_000,
    }),
  };
  const { identity } = await identities([FILE], issuers).exchange({
    ...EXCHANGE,
    from: 'issuer',
    audience: 'here',
  });
  expect(identity.name).toBe('from-the-file for here');
});

test('a request without a token is who the first source says', () => {
  const anonymous = { ...READER, name: 'anyone' };
  expect(identities([FILE, { identify: () => undefined, anonymous }]).anonymous).toBe(anonymous);
  expect(identities().anonymous).toBeUndefined();
});
