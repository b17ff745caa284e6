// The cookie of a browser's login: what it gives, and how it ends.
import { expect, test } from 'vitest';
import { accessControl } from '../../../server/access/access-control.ts';
import type { Identity } from '../../../server/access/identity.ts';
import { BrowserSessions } from '../../../server/access/web/browser-session.ts';
import { identity, MAIN, sourceOf } from './identities.ts';

const HOUR = 60 * 60_000;
const KNOWN = new Map([['a token', MAIN]]);

interface Given {
  readonly secret?: Buffer;
  readonly now?: () => number;
  readonly known?: ReadonlyMap<string, Identity>;
}

function sessions({ secret = Buffer.alloc(32, 1), now = () => 0, known = KNOWN }: Given = {}) {
  const identities = { identify: (token: string): Identity | undefined => known.get(token) };
  return new BrowserSessions(accessControl({ identities, now }), () => secret, undefined, now);
}

function cookieOf(opened: { readonly header: string } | undefined): { cookie: string } {
  return { cookie: opened?.header.split(';')[0] ?? '' };
}

test('a cookie reads as its token does, and writes nothing', async () => {
  const browser = sessions();
  const found = await browser.identityOf(cookieOf(browser.open('a token', false)));
  expect(found).toMatchObject({ name: 'main', namespace: MAIN.namespace });
  expect([...(found?.rights ?? [])].sort()).toEqual(['blobs:read', 'results:read', 'stats']);
});

test('a cookie is kept from scripts and from requests of other sites', () => {
  expect(sessions().open('a token', true)?.header).toMatch(
    /^assay-session=[\w-]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure$/,
  );
});

test('a cookie does not show the token', () => {
  const { cookie } = cookieOf(sessions().open('a token', false));
  expect(Buffer.from(cookie.slice('assay-session='.length), 'base64url').toString('latin1')).not.toContain(
    'token',
  );
});

test('a token that nobody has opens no session', () => {
  expect(sessions().open('another', false)).toBeUndefined();
});

test('a session ends with the revocation of its token, and after its time', async () => {
  const known = new Map([['a token', MAIN]]);
  let time = 0;
  const browser = sessions({ known, now: () => time });
  const cookie = cookieOf(browser.open('a token', false));
  known.delete('a token');
  expect(await browser.identityOf(cookie)).toBeUndefined();
  known.set('a token', MAIN);
  time = 12 * HOUR - 1;
  expect(await browser.identityOf(cookie)).toBeDefined();
  time = 12 * HOUR;
  expect(await browser.identityOf(cookie)).toBeUndefined();
});

test('a session ends with a token that ends earlier', () => {
  const short = identity('short', { namespace: 'acme', expiresAt: HOUR });
  const opened = sessions({ known: new Map([['a token', short]]) }).open('a token', false);
  expect(opened?.header).toContain('Max-Age=3600;');
});

test('a cookie with one changed character, or of another server, is none', async () => {
  const browser = sessions();
  const { cookie } = cookieOf(browser.open('a token', false));
  for (const at of [0, 20, 40].map((offset) => 'assay-session='.length + offset)) {
    const changed = cookie.slice(0, at) + (cookie[at] === 'A' ? 'B' : 'A') + cookie.slice(at + 1);
    expect(await browser.identityOf({ cookie: changed })).toBeUndefined();
  }
  expect(await sessions({ secret: Buffer.alloc(32, 2) }).identityOf({ cookie })).toBeUndefined();
  expect(await sessions().identityOf({ cookie: `a=b; ${cookie}; c=d` })).toBeDefined();
  for (const odd of ['assay-session=', 'assay-session=%00', `assay-session=${'A'.repeat(5000)}`, '=', ';;'])
    expect(await browser.identityOf({ cookie: odd })).toBeUndefined();
});

test('a token that is too long for a cookie is refused with the reason', () => {
  const long = 'x'.repeat(4000);
  const open = new BrowserSessions(
    accessControl({ identities: sourceOf(identity(long, { namespace: '' })) }),
  );
  expect(() => open.open(long, false)).toThrow('too long');
});
