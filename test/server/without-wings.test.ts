// What a server is without any wing: it serves every protocol, its metrics and its health, and has no pages for people.
import { expect, test } from 'vitest';
import { digestOf } from '../../core/digest.ts';
import { RUNS_FORM, RUNS_HEADER, RUNS_PATH } from '../../core/metadata/run-report.ts';
import { PATH_SETS_PATH } from '../../core/path-set.ts';
import type { ServerPart } from '../../server/server-port.ts';
import { resultWith } from '../store/content.ts';
import { ask, codeIn, testServer } from './rig.ts';

const BROWSER = { headers: { accept: 'text/html' } };
const KEY = digestOf(Buffer.from('a key')).hash;
const NO_ROUTES: ServerPart = { routes: async () => {} };

test('a browser gets the text of the front page, and JSON for what is not there', async () => {
  const { url } = await testServer();
  const front = await ask(`${url}/`, 'GET', BROWSER);
  expect([front.status, front.headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8']);
  for (const path of ['/runs', '/api/v1/now', '/login']) {
    const absent = await ask(url + path, 'GET', BROWSER);
    expect([path, absent.status, codeIn(absent)]).toEqual([path, 404, 'ASSAY_NOT_FOUND']);
  }
  for (const path of ['/status', '/healthz', '/readyz', '/metrics'])
    expect([path, (await ask(url + path)).status]).toEqual([path, 200]);
});

test('results are stored, found and counted by tool', async () => {
  const { url } = await testServer();
  expect((await ask(`${url}/ac/${KEY}`, 'PUT', { body: resultWith({}) })).status).toBe(200);
  expect((await ask(`${url}/ac/${KEY}`)).status).toBe(200);
  const metrics = (await ask(`${url}/metrics`)).body.toString();
  expect(metrics).toContain('assay_results_total{tool="http",namespace="",outcome="hit"} 1');
});

test('a report gets 404, and only a server with a wing that takes reports asks for them', async () => {
  const announced = async (...wings: readonly ServerPart[]) => {
    const { url } = await testServer({ wings });
    const lists = await ask(`${url}${PATH_SETS_PATH}${KEY}`);
    const { status } = await ask(url + RUNS_PATH, 'POST', { body: Buffer.from('{}') });
    return [lists.headers[RUNS_HEADER], status];
  };
  expect(await announced()).toEqual([undefined, 404]);
  expect(await announced(NO_ROUTES)).toEqual([undefined, 404]);
  expect(await announced(NO_ROUTES, { ...NO_ROUTES, takesReports: true })).toEqual([String(RUNS_FORM), 404]);
});

test('a wing adds routes, and one that has GET / replaces the front page', async () => {
  const { url } = await testServer({
    wings: [
      {
        async routes(app) {
          app.get('/', { config: { isPublic: true } }, () => 'mine');
          app.get('/beside', { config: { isPublic: true } }, () => 'beside');
        },
      },
      NO_ROUTES,
    ],
  });
  expect((await ask(`${url}/`)).body.toString()).toBe('mine');
  expect((await ask(`${url}/beside`)).body.toString()).toBe('beside');
});
