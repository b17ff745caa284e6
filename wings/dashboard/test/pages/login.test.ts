// The login of a person: the cookie that it gives, what that is good for, and what it is not.
import { expect, test } from 'vitest';
import { EVERYBODY } from '../../../../test/server/access/identities.ts';
import { ask, codeIn, type TestServer } from '../../../../test/server/rig.ts';
import { testServer } from '../rig.ts';
import { browserForAll } from './chromium.ts';

const HTML = { accept: 'text/html,application/xhtml+xml' };
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const PAGES = ['/', '/runs', '/misses', '/hermeticity', '/storage', '/setup'];

function login(server: TestServer, token: string, more: Record<string, string> = {}) {
  const body = Buffer.from(new URLSearchParams({ token, next: '/misses' }).toString());
  return ask(`${server.url}/login`, 'POST', { headers: { ...HTML, ...FORM, ...more }, body });
}

async function cookieOf(server: TestServer, token: string): Promise<string> {
  const { headers } = await login(server, token);
  return String(headers['set-cookie']).split(';')[0] ?? '';
}

test('a token gives a cookie that scripts and other sites do not get, and goes on to the page', async () => {
  const server = await testServer({ identities: EVERYBODY });
  const { status, headers } = await login(server, 'reader');
  expect({ status, location: headers.location }).toEqual({ status: 303, location: '/misses' });
  expect(headers['set-cookie']).toMatch(
    /^assay-session=[\w-]+; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Strict$/,
  );
  const overTls = await login(server, 'reader', { origin: server.url.replace('http:', 'https:') });
  expect(overTls.headers['set-cookie']).toMatch(/; Secure$/);
});

test('with the cookie, a browser reads pages and the API', async () => {
  const server = await testServer({ identities: EVERYBODY });
  const cookie = await cookieOf(server, 'reader');
  for (const path of PAGES) {
    const { status, headers, body } = await ask(server.url + path, 'GET', { headers: { ...HTML, cookie } });
    expect({ path, status, type: headers['content-type'] }).toEqual({
      path,
      status: 200,
      type: 'text/html; charset=utf-8',
    });
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self';/,
    );
    expect(body.toString()).toContain('Log out');
  }
  expect((await ask(`${server.url}/api/v1/runs`, 'GET', { headers: { cookie } })).status).toBe(200);
});

test('the cookie is good for no protocol and for no write', async () => {
  const server = await testServer({ identities: EVERYBODY });
  const cookie = await cookieOf(server, 'main');
  const key = 'a'.repeat(64);
  for (const path of [
    `/cas/${key}`,
    `/ac/${key}`,
    '/v8/artifacts/abc',
    `/ccache/75/${'9'.repeat(30)}`,
    '/metrics',
    '/s3/b/k',
  ])
    for (const method of ['GET', 'PUT'] as const)
      expect({
        path,
        method,
        ...(await ask(server.url + path, method, { headers: { cookie } })),
      }).toMatchObject({ status: 401 });
  const report = { headers: { cookie, 'content-type': 'application/json' }, body: Buffer.from('{}') };
  expect((await ask(`${server.url}/api/v1/runs`, 'POST', report)).status).toBe(401);
  const sealed = cookie.slice('assay-session='.length);
  const asToken = { headers: { authorization: `Bearer ${sealed}` } };
  expect((await ask(`${server.url}/runs`, 'GET', asToken)).status).toBe(401);
});

test.each(PAGES)('without a credential, %s leads a browser to the login and back', async (path) => {
  const server = await testServer({ identities: EVERYBODY });
  const { status, headers, body } = await ask(server.url + path, 'GET', { headers: HTML });
  expect(status).toBe(401);
  expect(headers['www-authenticate']).toBeUndefined();
  expect(body.toString()).toContain(`content="0; url=/login?next=${encodeURIComponent(path)}"`);
});

test('other clients keep the text at /, and errors in JSON', async () => {
  const server = await testServer({ identities: EVERYBODY });
  const { status, headers, body } = await ask(`${server.url}/`, 'GET', { headers: { accept: '*/*' } });
  expect([status, headers['content-type'], headers.vary]).toEqual([
    200,
    'text/plain; charset=utf-8',
    'accept',
  ]);
  expect(body.toString()).toContain('The setting for each tool');
  const refused = await ask(`${server.url}/runs`);
  expect([refused.status, codeIn(refused)]).toEqual([401, 'ASSAY_UNAUTHORIZED']);
  expect(refused.headers['www-authenticate']).toBeDefined();
});

test('a token that is wrong, or may not read, gives no cookie; and it is nowhere in the answer or the log', async () => {
  const server = await testServer({ identities: EVERYBODY });
  for (const [token, status] of [
    ['a-secret-that-nobody-has', 401],
    ['writer', 403],
  ] as const) {
    const answer = await login(server, token);
    expect(answer.status).toBe(status);
    expect(answer.headers['set-cookie']).toBeUndefined();
    expect(answer.body.toString()).toContain('role="alert"');
  }
  const whole = JSON.stringify(await login(server, 'a-secret-that-nobody-has')) + server.logged();
  expect(whole).not.toContain('a-secret-that-nobody-has');
});

test('an address that fails too often is asked to wait, and keeps nobody else from a login', async () => {
  const server = await testServer({ identities: EVERYBODY });
  for (let attempt = 0; attempt < 30; attempt++) expect((await login(server, 'wrong')).status).toBe(401);
  const { status, headers } = await login(server, 'wrong');
  expect([status, headers['retry-after']]).toEqual([429, '60']);
  expect((await login(server, 'reader')).status).toBe(303);
});

test.each([
  '//evil.example/',
  'https://evil.example/',
  '/\\evil.example',
  '/a\r\nx: y',
  'javascript:alert(1)',
  '/login',
])('a login never leads to %j', async (next) => {
  const server = await testServer({ identities: EVERYBODY });
  const body = Buffer.from(new URLSearchParams({ token: 'reader', next }).toString());
  const { headers } = await ask(`${server.url}/login`, 'POST', { headers: { ...HTML, ...FORM }, body });
  expect(headers.location).toBe('/');
});

test('a page of another site can not log in, and can not frame or read a page', async () => {
  const server = await testServer({ identities: EVERYBODY });
  expect((await login(server, 'reader', { origin: 'http://evil.example' })).status).toBe(403);
  const cookie = await cookieOf(server, 'reader');
  const foreign = { ...HTML, cookie, 'sec-fetch-site': 'cross-site' };
  for (const more of [
    { 'sec-fetch-dest': 'iframe' },
    { 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate' },
  ]) {
    const { status, body } = await ask(`${server.url}/runs`, 'GET', { headers: { ...foreign, ...more } });
    expect([status, body.toString().includes('Log out')]).toEqual([403, false]);
  }
});

const browser = browserForAll();

test('a person logs in, follows a link from another site, and logs out', async () => {
  const server = await testServer({ identities: EVERYBODY });
  const { page, complaints } = await browser.visit();
  await page.goto(`${server.url}/misses?days=30`);
  await page.getByLabel('Token').fill('wrong');
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('alert').waitFor();
  await page.getByLabel('Token').fill('reader');
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('heading', { name: 'Misses worth fixing' }).waitFor();
  expect(page.url()).toBe(`${server.url}/misses?days=30`);
  expect(await page.locator('main').innerText()).toContain('The token reader sees acme/app/main, ');

  await page.route('**/ci-log', (route) =>
    route.fulfill({ contentType: 'text/html', body: `<a href="${server.url}/runs">the run</a>` }),
  );
  await page.goto('http://ci.example/ci-log');
  await page.getByRole('link', { name: 'the run' }).click();
  await page.getByRole('heading', { name: 'Runs' }).waitFor();

  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByLabel('Token').waitFor();
  await page.goto(`${server.url}/runs`);
  await page.getByLabel('Token').waitFor();
  /** Chromium reports each answer that is not a success. */
  expect(complaints.filter((text) => !/status of (401|403)/.test(text))).toEqual([]);
});

test.each(['/nowhere', '/favicon.ico', '/a/%zz', '/api/v1/nothing'])(
  'no browser is asked for a password at %s',
  async (path) => {
    const server = await testServer({ identities: EVERYBODY });
    const cookie = await cookieOf(server, 'reader');
    for (const accept of [HTML.accept, 'image/avif,image/webp,*/*']) {
      const answer = await ask(server.url + path, 'GET', { headers: { accept, cookie } });
      expect([answer.status, answer.headers['www-authenticate']]).toEqual([
        path.includes('%') ? 400 : 404,
        undefined,
      ]);
    }
    const stranger = await ask(server.url + path, 'GET', { headers: HTML });
    expect([stranger.status, stranger.headers['www-authenticate']]).toEqual([401, undefined]);
    expect(stranger.body.toString()).toContain('url=/login?next=');
    const tool = await ask(server.url + path);
    expect([tool.status, tool.headers['www-authenticate']]).toEqual([401, ['Bearer', 'Basic realm="assay"']]);
  },
);

test('a browser whose login has ended is not asked for a password by the API', async () => {
  const server = await testServer({ identities: EVERYBODY });
  const headers = { accept: '*/*', cookie: 'assay-session=ended' };
  const { status, headers: answered } = await ask(`${server.url}/api/v1/tail`, 'GET', { headers });
  expect([status, answered['www-authenticate']]).toEqual([401, undefined]);
});
