// Tokens of a real issuer: the right one is taken, and nothing else is. The issuer is a process of its own.
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { exportSPKI, importJWK, type JWK, SignJWT } from 'jose';
import { describe, expect, test } from 'vitest';
import { parseDocument } from '../../../../core/config/document.ts';
import type { Identity } from '../../../../server/access/identity.ts';
import { removeOld } from '../../../../server/background/retention.ts';
import { OidcIssuer } from '../../../../test/rig/oidc/issuer.ts';
import { memoryHistory } from '../../../../test/rig/stores/memory/history.ts';
import { type Issuer, parseIssuers } from '../../issuers/config.ts';
import { OidcIssuers } from '../../issuers/issuers.ts';
import { storedUsedTokens, UsedTokensInMemory } from '../../issuers/replay.ts';
import { OIDC } from '../../limits.ts';

/** Rows are kept so much longer than the token, because clocks differ. */
const HOUR_MS = 3_600_000;
const AUDIENCE = 'https://cache.example';

const JOB = {
  aud: AUDIENCE,
  repository: 'acme/app',
  repository_id: '74',
  repository_owner_id: '65',
  ref: 'refs/heads/main',
  event_name: 'push',
  run_id: '900',
};

function configured(url: string, more: object = {}): Issuer[] {
  const repositories = [{ id: 74, owner: 65, namespace: 'acme/app' }];
  const issuer = { issuer: url, kind: 'github', audience: [AUDIENCE, 'second'], repositories, ...more };
  return parseIssuers(parseDocument({ file: 'config.json', text: JSON.stringify([issuer]) }));
}

interface Scene {
  readonly issuer: OidcIssuer;
  readonly server: OidcIssuers;
  /** Moves the server's clock. The issuer's stays. */
  passes(milliseconds: number): void;
}

async function scene(more: object = {}): Promise<Scene> {
  const issuer = await OidcIssuer.start();
  let ahead = 0;
  const now = (): number => Date.now() + ahead;
  return {
    issuer,
    server: new OidcIssuers(configured(issuer.url, more), { now }),
    passes(milliseconds) {
      ahead += milliseconds;
    },
  };
}

function namespaceOf(identity: Promise<Identity>): Promise<string> {
  return identity.then(({ namespace }) => namespace);
}

describe('a right token', () => {
  test.each(['RS256', 'PS256', 'ES256', 'EdDSA'] as const)('signed with %s is taken', async (alg) => {
    const { issuer, server } = await scene();
    const token = await issuer.sign({ claims: JOB, alg });
    expect(await namespaceOf(server.identify(token))).toBe('acme/app/main');
  });

  test('is taken by its keys’ own URL, without discovery', async () => {
    const issuer = await OidcIssuer.start();
    const server = new OidcIssuers(configured(issuer.url, { jwks: `${issuer.url}/jwks` }));
    await issuer.behave('other issuer');
    expect(await namespaceOf(server.identify(await issuer.sign({ claims: JOB })))).toBe('acme/app/main');
  });

  test('is taken with a clock that is 50 s ahead or behind', async () => {
    const { issuer, server, passes } = await scene();
    const token = await issuer.sign({ claims: JOB });
    passes(-50_000);
    expect(await namespaceOf(server.identify(token))).toBe('acme/app/main');
    passes(50_000 + 300_000 + 50_000);
    expect(await namespaceOf(server.identify(await issuer.sign({ claims: JOB })))).toBe('acme/app/main');
  });

  test('is taken for each of the audiences, alone or among others', async () => {
    const { issuer, server } = await scene();
    for (const aud of ['second', ['elsewhere', AUDIENCE]])
      expect(await namespaceOf(server.identify(await issuer.sign({ claims: { ...JOB, aud } })))).toBe(
        'acme/app/main',
      );
    const asked = await issuer.sign({ claims: JOB });
    await expect(server.identify(asked, 'elsewhere')).rejects.toThrow('ASSAY_TOKEN_AUDIENCE');
    expect(await namespaceOf(server.identify(asked, 'second'))).toBe('acme/app/main');
  });
});

const ATTACKERS_KEYS = generateKeyPairSync('rsa', { modulusLength: 2048 });

function base64(value: object | string): string {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
}

async function rsaKey(issuer: OidcIssuer): Promise<JWK> {
  const key = (await issuer.keys()).find(({ kty }) => kty === 'RSA');
  if (!key) throw new Error('no RSA key');
  return key;
}

/** Tokens that must be refused, each made with all that an attacker has. */
const ATTACKS: Readonly<Record<string, (issuer: OidcIssuer) => Promise<string>>> = {
  'of another audience': (issuer) => issuer.sign({ claims: { ...JOB, aud: 'https://other.example' } }),
  'of an audience that only begins the same': (issuer) =>
    issuer.sign({ claims: { ...JOB, aud: `${AUDIENCE}.evil` } }),
  'without an audience': (issuer) => issuer.sign({ claims: { ...JOB, aud: null } }),
  'with an empty list of audiences': (issuer) => issuer.sign({ claims: { ...JOB, aud: [] } }),
  'that has expired': (issuer) => issuer.sign({ claims: { ...JOB, exp: seconds(-61) } }),
  'that does not end': (issuer) => issuer.sign({ claims: { ...JOB, exp: null } }),
  'whose end is a text': (issuer) => issuer.sign({ claims: { ...JOB, exp: '9999999999' } }),
  'that is not valid yet': (issuer) => issuer.sign({ claims: { ...JOB, nbf: seconds(70) } }),
  'that was issued in the future': (issuer) => issuer.sign({ claims: { ...JOB, iat: seconds(70) } }),
  'that does not say when it was issued': (issuer) => issuer.sign({ claims: { ...JOB, iat: null } }),
  'of another issuer by its claim': (issuer) =>
    issuer.sign({ claims: { ...JOB, iss: 'https://other.example' } }),
  'with a slash after its issuer': (issuer) => issuer.sign({ claims: { ...JOB, iss: `${issuer.url}/` } }),
  'without an issuer': (issuer) => issuer.sign({ claims: { ...JOB, iss: null } }),
  'of another type': (issuer) => issuer.sign({ claims: JOB, header: { typ: 'at+jwt' } }),
  'for a logout': (issuer) => issuer.sign({ claims: JOB, header: { typ: 'logout+jwt' } }),
  'with a critical header': (issuer) =>
    issuer.sign({ claims: JOB, header: { crit: ['urn:test'], 'urn:test': true } }),
  'with another key id': (issuer) => issuer.sign({ claims: JOB, header: { kid: 'another' } }),
  'that is huge': (issuer) => issuer.sign({ claims: { ...JOB, filler: 'x'.repeat(20_000) } }),
  'of another repository': (issuer) => issuer.sign({ claims: { ...JOB, repository_id: '75' } }),

  'without a signature': async (issuer) =>
    `${base64({ alg: 'none', typ: 'JWT' })}.${base64(claimsOf(issuer))}.`,
  'with alg none in capitals': async (issuer) => `${base64({ alg: 'NONE' })}.${base64(claimsOf(issuer))}.`,
  'with alg none and the key id': async (issuer) =>
    `${base64({ alg: 'none', kid: (await rsaKey(issuer)).kid })}.${base64(claimsOf(issuer))}.`,
  'with an empty signature': async (issuer) => {
    const [header, payload] = (await issuer.sign({ claims: JOB })).split('.');
    return `${header}.${payload}.`;
  },
  'with the signature of another token': async (issuer) => {
    const [header, payload] = (await issuer.sign({ claims: JOB })).split('.');
    const [, , signature] = (await issuer.sign({ claims: { ...JOB, ref: 'refs/heads/x' } })).split('.');
    return `${header}.${payload}.${signature}`;
  },
  'with other claims': async (issuer) => {
    const [header, , signature] = (await issuer.sign({ claims: { ...JOB, repository_id: '1' } })).split('.');
    return `${header}.${base64(claimsOf(issuer))}.${signature}`;
  },
  'signed by HMAC with the public key in PEM': async (issuer) => {
    const key = await rsaKey(issuer);
    return signedByHmac(issuer, await exportSPKI(await importedKey(key)), key.kid);
  },
  'signed by HMAC with the public key in DER': async (issuer) => {
    const key = await rsaKey(issuer);
    const der = createPublicKey({ key: { ...key }, format: 'jwk' }).export({ type: 'spki', format: 'der' });
    return signedByHmac(issuer, der, key.kid);
  },
  'signed by HMAC with the key’s JSON': async (issuer) => {
    const key = await rsaKey(issuer);
    return signedByHmac(issuer, JSON.stringify(key), key.kid);
  },
  'signed by HMAC with nothing': (issuer) => signedByHmac(issuer, '', undefined),
  'signed by another key under the issuer’s key id': async (issuer) =>
    signedByOwnKey(issuer, { kid: (await rsaKey(issuer)).kid }),
  'with its key in the header': async (issuer) => {
    const { publicKey, privateKey } = ATTACKERS_KEYS;
    const { kty, n, e } = publicKey.export({ format: 'jwk' });
    return new SignJWT(claimsOf(issuer))
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT', jwk: { kty: String(kty), n: String(n), e: String(e) } })
      .sign(privateKey);
  },
  'with the URL of its key in the header': (issuer) =>
    signedByOwnKey(issuer, { jku: 'http://127.0.0.1:1/keys', kid: 'mine' }),
  'with the URL of a certificate in the header': (issuer) =>
    signedByOwnKey(issuer, { x5u: 'http://127.0.0.1:1/c' }),
  'with a certificate in the header': (issuer) => signedByOwnKey(issuer, { x5c: ['MIIB'] }),
  'of another issuer with the same key id': async (issuer) => {
    const other = await OidcIssuer.start();
    return other.sign({ claims: { ...JOB, iss: issuer.url }, header: { kid: (await rsaKey(issuer)).kid } });
  },
  'signed by an elliptic key under the id of an RSA key': async (issuer) =>
    issuer.sign({ claims: JOB, alg: 'ES256', header: { kid: (await rsaKey(issuer)).kid } }),
  'that is encrypted': async () => `${base64({ alg: 'dir', enc: 'A128GCM' })}..a.b.c`,
  'that is a JSON object': async (issuer) =>
    JSON.stringify({ payload: base64(claimsOf(issuer)), signatures: [] }),
  'of two parts': async (issuer) => `${base64({ alg: 'RS256' })}.${base64(claimsOf(issuer))}`,
  'that is empty': async () => '',
  'that is only dots': async () => '..',
  'whose claims are a list': async () => `${base64({ alg: 'RS256' })}.${base64([])}.AAAA`,
};

function seconds(fromNow: number): number {
  return Math.floor(Date.now() / 1000) + fromNow;
}

function claimsOf({ url }: OidcIssuer): Record<string, string | number> {
  return { ...JOB, iss: url, iat: seconds(0), exp: seconds(300) };
}

async function importedKey(key: JWK): Promise<CryptoKey> {
  const imported = await importJWK(key, 'RS256', { extractable: true });
  if (imported instanceof Uint8Array) throw new Error('a secret key');
  return imported;
}

function signedByHmac(issuer: OidcIssuer, secret: string | Buffer, kid: string | undefined): Promise<string> {
  const key = typeof secret === 'string' ? Buffer.from(secret || '\0') : secret;
  return new SignJWT(claimsOf(issuer))
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT', ...(kid && { kid }) })
    .sign(key);
}

function signedByOwnKey(issuer: OidcIssuer, header: object): Promise<string> {
  return new SignJWT(claimsOf(issuer))
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...header })
    .sign(ATTACKERS_KEYS.privateKey);
}

test('of all wrong tokens none is accepted', async () => {
  const { issuer, server } = await scene();
  const right = await issuer.sign({ claims: JOB });
  const accepted: string[] = [];
  const reasons = new Map<string, string>();
  for (const [name, make] of Object.entries(ATTACKS)) {
    const token = await make(issuer);
    const outcome = await server.identify(token).then(
      () => 'accepted',
      (error: unknown) => String(error),
    );
    if (outcome === 'accepted') accepted.push(name);
    reasons.set(name, outcome);
    if (token.length > 8) expect(outcome).not.toContain(token.slice(-8));
  }
  expect(accepted).toEqual([]);
  expect([...reasons].filter(([, outcome]) => !outcome.includes('ASSAY_TOKEN_REFUSED'))).toEqual([]);
  expect(reasons.get('of another audience')).toContain('it is for another audience');
  expect(reasons.get('that does not end')).toContain('it has no end');
  expect(reasons.get('that does not say when it was issued')).toContain('when it was issued');
  expect(reasons.get('that has expired')).toContain('it has expired');
  expect(reasons.get('of another repository')).toContain(
    'no rule of this server applies to repository_id="75"',
  );
  expect(await namespaceOf(server.identify(right))).toBe('acme/app/main');
});

describe('a token that is used again', () => {
  test('is refused until its end, also if both come at once', async () => {
    const { issuer, server, passes } = await scene();
    const token = await issuer.sign({ claims: { ...JOB, jti: 'one' } });
    const both = await Promise.allSettled([server.identify(token), server.identify(token)]);
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    passes(299_000);
    await expect(server.identify(token)).rejects.toThrow('it was exchanged before');
    server.configure(configured(issuer.url));
    await expect(server.identify(token)).rejects.toThrow('it was exchanged before');
    passes(62_000);
    await expect(server.identify(token)).rejects.toThrow('it has expired');
  });

  test.each([[null], [7], [['one']], ['']])(
    'is refused also with the id %j, and hinders no other',
    async (jti) => {
      const { issuer, server } = await scene();
      const token = await issuer.sign({ claims: { ...JOB, jti } });
      await server.identify(token);
      await expect(server.identify(token)).rejects.toThrow('it was exchanged before');
      await server.identify(await issuer.sign({ claims: { ...JOB, jti, run_id: '901' } }));
    },
  );

  test('is refused in another spelling of its signature', async () => {
    const { issuer, server } = await scene();
    const token = await issuer.sign({ claims: JOB });
    await server.identify(token);
    /* 256 bytes are 341 characters and a third: the last character has four bits that no decoder needs. */
    const last = token.at(-1) ?? '';
    const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const spellings = [...ALPHABET]
      .filter((other) => other !== last)
      .map((other) => token.slice(0, -1) + other);
    for (const spelling of [...spellings, `${token}=`, `${token}==`])
      await expect(server.identify(spelling)).rejects.toThrow('ASSAY_TOKEN_REFUSED');
  });

  test('is refused after a restart, and by another server on the same store', async () => {
    const history = memoryHistory();
    const issuer = await OidcIssuer.start();
    const start = () => new OidcIssuers(configured(issuer.url), { used: storedUsedTokens(history) });
    const [first, second] = [start(), start()];
    const token = await issuer.sign({ claims: JOB });
    const both = await Promise.allSettled([first.identify(token), second.identify(token)]);
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    await expect(start().identify(token)).rejects.toThrow('it was exchanged before');
    const retention = { history, limit: () => Number.POSITIVE_INFINITY };
    const stored = async () => (await history.page({ kind: 'used-token', limit: 10 })).documents.length;
    await removeOld(
      { ...retention, now: () => Date.now() + HOUR_MS + 299_000 },
      new AbortController().signal,
    );
    expect(await stored()).toBe(1);
    await removeOld(
      { ...retention, now: () => Date.now() + HOUR_MS + 362_000 },
      new AbortController().signal,
    );
    expect(await stored()).toBe(0);
  });

  test('that no rule applies to is not used up', async () => {
    const { issuer, server } = await scene();
    const token = await issuer.sign({ claims: { ...JOB, repository_id: '75', jti: 'one' } });
    await expect(server.identify(token)).rejects.toThrow('no rule');
    server.configure(configured(issuer.url, { repositories: [{ id: 75, owner: 65, namespace: 'acme/b' }] }));
    expect(await namespaceOf(server.identify(token))).toBe('acme/b/main');
  });

  test('is known to a read-only server in a bounded table that refuses when it is full', async () => {
    const used = new UsedTokensInMemory(undefined, 3);
    for (const digest of ['a', 'b', 'c']) expect(await used.add(digest, 100, 0)).toBe(true);
    await expect(used.add('d', 100, 0)).rejects.toThrow('ASSAY_OVERLOADED');
    expect(await used.add('a', 100, 99)).toBe(false);
    expect(await used.add('d', 200, 101)).toBe(true);
    expect(await used.add('e', 200, 101)).toBe(true);
  });
});

describe('the keys of an issuer', () => {
  test('are fetched once for many tokens', async () => {
    const { issuer, server } = await scene();
    const tokens = await Promise.all(Array.from({ length: 8 }, () => issuer.sign({ claims: JOB })));
    await Promise.all(tokens.map((token) => server.identify(token)));
    expect(await issuer.fetches()).toBe(1);
  });

  test('that rotate are fetched again, and the withdrawn ones are refused', async () => {
    const { issuer, server, passes } = await scene();
    const old = await issuer.sign({ claims: JOB });
    await server.identify(old);
    await issuer.rotate();
    passes(OIDC.keyRetryMs);
    expect(await namespaceOf(server.identify(await issuer.sign({ claims: JOB })))).toBe('acme/app/main');
    await expect(server.identify(old)).rejects.toThrow('its issuer has no such key');
    expect(await issuer.fetches()).toBe(2);
  });

  test('that are unknown cause one fetch in ten seconds', async () => {
    const { issuer, server, passes } = await scene();
    await server.identify(await issuer.sign({ claims: JOB }));
    const unknown = await Promise.all(
      Array.from({ length: 10 }, (_, kid) => issuer.sign({ claims: JOB, header: { kid: `unknown-${kid}` } })),
    );
    for (let round = 1; round <= 3; round++) {
      passes(OIDC.keyRetryMs);
      const refused = await Promise.allSettled(unknown.map((token) => server.identify(token)));
      expect(refused.filter(({ status }) => status === 'fulfilled')).toEqual([]);
      expect(await issuer.fetches()).toBe(1 + round);
    }
  });

  test('stay in use for a day while the issuer is down, and not longer', async () => {
    const { issuer, server, passes } = await scene();
    const untilLater = { exp: seconds(3 * 86_400) };
    const sign = () => issuer.sign({ claims: { ...JOB, ...untilLater } });
    const [first, second, third] = [await sign(), await sign(), await sign()];
    await server.identify(first);
    await issuer.stop();
    passes(OIDC.maxKeyAgeMs - 60_000);
    expect(await namespaceOf(server.identify(second))).toBe('acme/app/main');
    passes(120_000);
    await expect(server.identify(third)).rejects.toThrow('ASSAY_ISSUER_UNREACHABLE');
  });

  test('are found when the issuer comes back', async () => {
    const { issuer, server, passes } = await scene();
    const token = await issuer.sign({ claims: JOB });
    await issuer.behave('fails');
    await expect(server.identify(token)).rejects.toThrow('ASSAY_ISSUER_UNREACHABLE');
    await issuer.behave('well');
    await expect(server.identify(token)).rejects.toThrow('ASSAY_ISSUER_UNREACHABLE');
    passes(OIDC.keyRetryMs);
    expect(await namespaceOf(server.identify(token))).toBe('acme/app/main');
  });

  test.each([
    ['fails', 'it answered 500'],
    ['redirects', 'it answered 302'],
    ['endless', /size/i],
    ['other issuer', 'names another issuer'],
    ['keys over http', 'neither https:// nor on loopback'],
  ] as const)('are not taken from an issuer that answers wrongly: %s', async (mode, why) => {
    const { issuer, server } = await scene();
    const token = await issuer.sign({ claims: JOB });
    await issuer.behave(mode);
    const refused = await server.identify(token).catch((error: unknown) => String(error));
    expect(refused).toContain('ASSAY_ISSUER_UNREACHABLE');
    expect(refused).toMatch(why);
    expect(await issuer.fetches()).toBe(0);
  });

  test('that are secret, or no keys at all, are not taken', async () => {
    const { issuer, server, passes } = await scene();
    const secret = Buffer.alloc(32, 5);
    await issuer.publish([{ kty: 'oct', k: secret.toString('base64url'), kid: 'secret', alg: 'HS256' }]);
    const token = await new SignJWT(claimsOf(issuer))
      .setProtectedHeader({ alg: 'HS256', kid: 'secret' })
      .sign(secret);
    await expect(server.identify(token)).rejects.toThrow(/ASSAY_(ISSUER_UNREACHABLE|TOKEN_REFUSED)/);
    passes(OIDC.keyRetryMs);
    await issuer.publish([
      {},
      { kty: 'RSA' },
      { kty: 'RSA', n: 'AQAB', e: 'AQAB', kid: 'small', alg: 'RS256' },
    ]);
    await expect(
      server.identify(await issuer.sign({ claims: JOB, header: { kid: 'small' } })),
    ).rejects.toThrow('ASSAY_TOKEN_REFUSED');
  });
});
