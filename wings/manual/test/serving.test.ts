// The documentation at /docs of a server.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { writeFiles } from '../../../test/rig/folders.ts';
import { ask, RawConnection, type TestServer, testServer } from '../../../test/server/rig.ts';
import { contentOf } from '../../../test/store/content.ts';
import { LIST } from '../files.ts';
import { manualPart } from '../part.ts';

const SCRIPT = 'sha256-DQUgNM9X0iH2019NkUxeBvnBoEoRKkHBc/I0iLqPNPA=';

const pagesOf = (url: string) => `${url}/docs/`;

test('a page needs no token, runs only the scripts of the build, and has its name without .html too', async () => {
  const { url } = await serverWithPages();
  for (const path of ['', 'index.html', 'STEPS.html', 'STEPS']) {
    const { status, headers, body } = await ask(pagesOf(url) + path);
    expect([status, headers['content-type'], headers['cache-control']], path).toEqual([
      200,
      'text/html; charset=utf-8',
      'no-cache',
    ]);
    expect(headers['content-security-policy']).toContain(`script-src 'self' '${SCRIPT}';`);
    expect(body.toString()).toMatch(/^<h1>/);
  }
  expect((await ask(`${url}/docs`)).headers.location).toBe('/docs/');
  const { headers } = await ask(`${pagesOf(url)}assets/a.js`);
  expect([headers['content-type'], headers['cache-control']]).toEqual([
    'text/javascript; charset=utf-8',
    'public, max-age=31536000, immutable',
  ]);
});

test('only what the build listed is shown, and only by GET and HEAD', async () => {
  const server = await serverWithPages();
  for (const path of ['secret.txt', 'files.json', '%2e%2e%2fsecret.txt', 'assets/'])
    expect((await ask(pagesOf(server.url) + path)).status, path).toBe(404);
  const raw = await RawConnection.to(server);
  raw.send(`GET ${pagesOf('')}../secret.txt HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`);
  expect(await raw.untilClosed()).not.toContain('hidden');
  expect((await ask(`${pagesOf(server.url)}STEPS`, 'HEAD')).status).toBe(200);
  for (const method of ['POST', 'PUT', 'DELETE'] as const)
    expect((await ask(`${pagesOf(server.url)}STEPS`, method)).status, method).toBe(405);
});

test('a client whose cache has the prefix docs goes on', async () => {
  const { url } = await serverWithPages();
  const body = contentOf('of a client', 100);
  const blob = `${pagesOf(url)}cas/${digestOf(body).hash}`;
  const headers = { authorization: 'Bearer secret' };
  expect((await ask(blob, 'PUT', { headers, body })).status).toBe(200);
  expect((await ask(blob, 'GET', { headers })).body).toEqual(body);
});

test('a build without pages says how to make them', async () => {
  const { url } = await testServer({ wings: [manualPart([join(tmpdir(), 'no-such-folder')])] });
  const { status, body } = await ask(pagesOf(url));
  expect(status).toBe(404);
  expect(body.toString()).toContain('npm run docs');
});

test('pages that an upgrade removed are not found', async () => {
  const folder = pages();
  const { url } = await testServer({ wings: [manualPart([folder])] });
  rmSync(folder, { recursive: true });
  const { status, body } = await ask(`${pagesOf(url)}STEPS`);
  expect(status).toBe(404);
  expect(body.toString()).toContain('start it again');
});

async function serverWithPages(): Promise<TestServer> {
  return testServer({ wings: [manualPart([pages()])], token: 'secret' });
}

/** Not all of the files are listed. */
function pages(): string {
  const folder = mkdtempSync(join(tmpdir(), 'assay-docs-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const files = { 'index.html': '<h1>Home</h1>', 'STEPS.html': '<h1>Steps</h1>', 'assets/a.js': 'a()' };
  const list = Object.keys(files).map((path) => ({ path, scripts: [SCRIPT] }));
  writeFiles(folder, { 'secret.txt': 'hidden' });
  writeFiles(join(folder, 'docs'), { ...files, 'secret.txt': 'hidden', [LIST]: list });
  return join(folder, 'docs');
}
