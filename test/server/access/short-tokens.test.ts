// Short tokens say who sends a request, end at their time, and can't be made or changed without the key.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parseNamespace } from '../../../core/namespace.ts';
import { wrapInJwt } from '../../../core/tokens/jwt.ts';
import { openAuthKey } from '../../../server/access/auth-key.ts';
import type { Identity } from '../../../server/access/identity.ts';
import { RIGHTS } from '../../../server/access/rights.ts';
import { type ShortIdentity, ShortTokens } from '../../../server/access/short-tokens.ts';
import { makeQuickFolder } from '../../rig/folders.ts';

const KEY = Buffer.alloc(32, 7);
const NOW = 1_800_000_000_000;

const PULL_REQUEST: ShortIdentity = {
  name: 'github:acme/app:pull_request:refs/pull/5/merge:99',
  rights: new Set(['results:read', 'results:write', 'blobs:read']),
  namespace: parseNamespace('acme/app/pr/5'),
  reads: [parseNamespace('acme/app/main')],
  expiresAt: NOW + 600_000,
};

function temporaryFolder(): string {
  const folder = makeQuickFolder();
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

function tokens(now: () => number = () => NOW, key = KEY): ShortTokens {
  return new ShortTokens(() => key, now);
}

describe('a short token', () => {
  test('gives back the identity that it was made for', () => {
    const { token } = tokens().issue(PULL_REQUEST);
    expect(tokens().identify(token)).toEqual(PULL_REQUEST);
  });

  test.each(RIGHTS)('keeps the single right %s', (right) => {
    const { token } = tokens().issue({ ...PULL_REQUEST, rights: new Set([right]) });
    expect([...(tokens().identify(token)?.rights ?? [])]).toEqual([right]);
  });

  test('ends at its time, also after it was used', () => {
    let now = NOW;
    const server = tokens(() => now);
    const { token, accessKey } = server.issue(PULL_REQUEST);
    now = PULL_REQUEST.expiresAt - 1;
    expect(server.identify(token)).toBeDefined();
    expect(server.identifyAccessKey(accessKey)).toBeDefined();
    now = PULL_REQUEST.expiresAt;
    expect(server.identify(token)).toBeUndefined();
    expect(server.identifyAccessKey(accessKey)).toBeUndefined();
    expect(tokens(() => now).identify(token)).toBeUndefined();
  });

  test('counts in the form of a JWT, whatever the header and the claims say', () => {
    const described = { ...PULL_REQUEST, mayRead: true, mayWrite: true };
    const { token } = tokens().issue(PULL_REQUEST);
    const [, , third = ''] = wrapInJwt(token, described).split('.');
    const claims = (text: object) => Buffer.from(JSON.stringify(text)).toString('base64url');
    const forged = [
      wrapInJwt(token, { ...described, namespace: parseNamespace('acme/app/main'), expiresAt: undefined }),
      `${claims({ alg: 'none' })}.${claims({ ac: '[]', namespace: '', rights: 'admin' })}.${third}`,
      `no-json.no-json.${third}`,
    ];
    for (const jwt of forged) expect(tokens().identify(jwt)).toEqual(PULL_REQUEST);
    const past = tokens(() => PULL_REQUEST.expiresAt);
    for (const jwt of forged) expect(past.identify(jwt)).toBeUndefined();
  });

  test('is worth nothing in a JWT whose third part is another one, or that is wrapped twice, or huge', () => {
    const described = { ...PULL_REQUEST, mayRead: true, mayWrite: true };
    const { token, accessKey, secretKey } = tokens().issue(PULL_REQUEST);
    const wrapped = wrapInJwt(token, described);
    const [header = '', claims = '', third = ''] = wrapped.split('.');
    const base64url = (text: string) => Buffer.from(text).toString('base64url');
    const others = [
      `${header}.${claims}.`,
      `${header}.${claims}`,
      `${header}..${third}`,
      `.${claims}.${third}`,
      `${wrapped}.${third}`,
      `${third}.${claims}.${header}`,
      `${header}.${third}.${claims}`,
      `${header}.${claims}.${base64url(accessKey)}`,
      `${header}.${claims}.${base64url(secretKey)}`,
      `${header}.${claims}.${base64url(`${token} `)}`,
      `${header}.${claims}.${base64url(`Bearer ${token}`)}`,
      `${header}.${claims}.${base64url(wrapped)}`,
      `${header}.${claims}.${third}=`,
      `${header}.${claims}.${third.slice(0, -1)}`,
      `${header}.${claims}.${tokens(() => NOW, Buffer.alloc(32, 8)).issue(PULL_REQUEST).secretKey}`,
      `${header}.${'A'.repeat(16_000)}.${third}`,
      `${header}.${claims}.${'A'.repeat(100_000)}`,
    ];
    for (const other of others) expect(tokens().identify(other)).toBeUndefined();
    expect(tokens().identify(wrapped)).toEqual(PULL_REQUEST);
  });

  test('is worth nothing with one character changed, left out or added', () => {
    const { token } = tokens().issue(PULL_REQUEST);
    const others = [...token].flatMap((letter, at) => [
      token.slice(0, at) + token.slice(at + 1),
      `${token.slice(0, at)}${letter === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`,
      `${token.slice(0, at)}A${token.slice(at)}`,
    ]);
    const server = tokens();
    expect([...others, `${token}A`, `${token}=`].filter((other) => server.identify(other))).toEqual([]);
    expect(server.identify(token)).toBeDefined();
  });

  test('is worth nothing under another key', () => {
    const { token } = tokens().issue(PULL_REQUEST);
    expect(tokens(() => NOW, Buffer.alloc(32, 8)).identify(token)).toBeUndefined();
  });

  test.each(['', '.', 'assay1-', 'assay1-.', 'assay1-e30.AAAA', 'assay2-e30.AAAA', 'a'.repeat(100_000)])(
    'is not %j',
    (text) => {
      expect(tokens().identify(text)).toBeUndefined();
    },
  );

  test('that is signed but says nothing valid is refused', () => {
    const bad = [
      '[]',
      '{}',
      'null',
      '["x","acme",[],"results:read"]',
      '["x","../acme",[],"results:read",9999999999,0]',
      '["x","acme",["a/../b"],"results:read",9999999999,0]',
      '["x","acme",[],"everything",9999999999,0]',
      '["x","acme",[],"",9999999999,0]',
    ];
    const ids = bad.map((json) => `assay1-${Buffer.from(json).toString('base64url')}`);
    expect(ids.map((id) => tokens().identifyAccessKey(id))).toEqual(bad.map(() => undefined));
  });

  test('is a pair of S3 keys: no character of them means something in the Authorization header', () => {
    const { token, accessKey, secretKey } = tokens().issue(PULL_REQUEST);
    expect(token).toBe(`${accessKey}.${secretKey}`);
    expect(accessKey).toMatch(/^assay1-[0-9A-Za-z_-]+$/);
    expect(tokens().identifyAccessKey(accessKey)).toEqual({ identity: PULL_REQUEST, secretKey });
    expect(tokens().identifyAccessKey('AKIAIOSFODNN7EXAMPLE')).toBeUndefined();
  });

  test('of the longest namespaces fits into its limit', () => {
    const long = parseNamespace(`acme/${'x'.repeat(250)}`);
    const longest: Identity = {
      ...PULL_REQUEST,
      namespace: long,
      reads: Array.from({ length: 9 }, () => long),
    };
    const { token } = tokens().issue({ ...longest, expiresAt: NOW + 1000 });
    expect(tokens().identify(token)).toBeDefined();
    const tooMany = Array.from({ length: 20 }, () => long);
    expect(() => tokens().issue({ ...PULL_REQUEST, reads: tooMany })).toThrow('too many namespaces');
  });
});

describe('the key', () => {
  test('is created once, for its user alone, and found again', () => {
    const folder = join(temporaryFolder(), 'store');
    const key = openAuthKey(folder);
    expect(key).toHaveLength(32);
    expect(statSync(join(folder, 'auth-key')).mode & 0o777).toBe(0o600);
    expect(openAuthKey(folder)).toEqual(key);
    expect(readdirSync(folder)).toEqual(['auth-key']);
  });

  test('that is damaged is refused, and not replaced', () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'auth-key'), 'short');
    expect(() => openAuthKey(folder)).toThrow(/auth-key has 5 bytes instead of 32/);
    expect(readFileSync(join(folder, 'auth-key'), 'utf8')).toBe('short');
  });

  test('is one key for many servers that start at once', () => {
    const folder = temporaryFolder();
    const source = join(import.meta.dirname, '../../../server/access/auth-key.ts');
    const one = `import(${JSON.stringify(source)}).then(({openAuthKey}) => console.log(openAuthKey(process.argv[1]).toString('hex')))`;
    const all = 'for i in 1 2 3 4 5 6; do "$0" -e "$1" "$2" & done; wait';
    const keys = execFileSync('sh', ['-c', all, process.execPath, one, folder], { encoding: 'utf8' });
    expect(new Set(keys.trim().split('\n'))).toEqual(new Set([openAuthKey(folder).toString('hex')]));
    expect(keys.trim().split('\n')).toHaveLength(6);
  });
});
