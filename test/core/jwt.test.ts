// A token in the form of a JWT has what BuildKit's client reads, and nothing that decides.
import { expect, test } from 'vitest';
import { parseNamespace } from '../../core/namespace.ts';
import { asJwt, unwrapJwt, wrapInJwt } from '../../core/tokens/jwt.ts';

const PULL_REQUEST = {
  namespace: parseNamespace('acme/app/pr/5'),
  reads: [parseNamespace('acme/app/main'), parseNamespace('acme')],
  mayRead: true,
  mayWrite: true,
  expiresAt: Date.UTC(2030, 0),
};

/** As tonistiigi/go-actions-cache reads it, without a look at the signature. */
function asBuildKit(token: string) {
  const [header = '', claims = '', signature = '', ...more] = token.split('.');
  const part = (text: string) => JSON.parse(Buffer.from(text, 'base64url').toString());
  expect([signature !== '', more]).toEqual([true, []]);
  expect(['HS256', 'HS384', 'HS512', 'RS256', 'none']).toContain(part(header).alg);
  const { ac, exp, nbf } = part(claims);
  expect([typeof ac, typeof exp, typeof nbf]).toEqual(['string', 'number', 'number']);
  const scopes: { Scope: string; Permission: number }[] = JSON.parse(ac);
  const writable = scopes.filter(({ Permission }) => (Permission & 2) !== 0).at(-1);
  return { scopes, exp, nbf, indexOf: writable?.Scope, read: scopes.map(({ Scope }) => Scope) };
}

test('BuildKit writes the index of the token’s namespace, and reads those of all that it reads', () => {
  const found = asBuildKit(asJwt('c2VjcmV0', PULL_REQUEST));
  expect(found).toMatchObject({ exp: Date.UTC(2030, 0) / 1000, nbf: 0, indexOf: 'acme/app/pr/5' });
  expect(found.read.sort()).toEqual(['acme', 'acme/app', 'acme/app/main', 'acme/app/pr', 'acme/app/pr/5']);
  expect(found.scopes.filter(({ Permission }) => Permission !== 1)).toEqual([
    { Scope: 'acme/app/pr/5', Permission: 3 },
  ]);
});

test('a token that only reads has no scope to write, and one that only writes none to read', () => {
  const permissions = (mayRead: boolean, mayWrite: boolean) =>
    asBuildKit(asJwt('c2VjcmV0', { ...PULL_REQUEST, reads: [], mayRead, mayWrite })).scopes.map(
      ({ Permission }) => Permission,
    );
  expect(permissions(true, false)).toEqual([1, 1, 1, 1]);
  expect(permissions(false, true)).toEqual([2]);
});

test('a token without an end has the end of the year 9999: BuildKit refuses one without', () => {
  const { exp } = asBuildKit(asJwt('c2VjcmV0', { ...PULL_REQUEST, expiresAt: undefined }));
  expect(new Date(exp * 1000).toISOString()).toBe('9999-12-31T23:59:59.000Z');
});

test('a wrapped token comes out of the third part, in its one spelling', () => {
  const wrapped = wrapInJwt('assay1-abc.def', PULL_REQUEST);
  expect(unwrapJwt(wrapped)).toBe('assay1-abc.def');
  for (const other of [
    `${wrapped}=`,
    `${wrapped}.x`,
    `x.${wrapped}`,
    wrapped.replace('.', ''),
    '',
    '..',
    'a..b',
  ])
    expect(unwrapJwt(other)).toBeUndefined();
  expect(unwrapJwt('h.c.YR')).toBeUndefined();
  expect(unwrapJwt('h.c.YQ')).toBe('a');
});
