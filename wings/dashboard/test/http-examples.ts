// Valid HTTP requests for each address of the dashboard. test/attack/access-matrix.test.ts sends them.
import { digestOf } from '../../../core/digest.ts';
import { DIGESTS, KEY, markOf } from '../../../test/attack/access/content.ts';
import type { HttpExamples } from '../../../test/attack/access/http-examples.ts';
import { miss, reportOf } from './reports.ts';

const BROWSER = { accept: 'text/html' };
const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' };
const JSON_TYPE = { 'content-type': 'application/json' };

/** The id of the run that each identity reports. */
function runBy(identity: string): string {
  return digestOf(Buffer.from(identity)).hash.slice(0, 32);
}

/** A report of a run with one miss. The branch, the step and the changed file have the mark. */
function reportBy(identity: string): string {
  const mark = markOf(identity);
  const steps = [{ ...miss(mark, { kind: 'input', name: mark }, 10), status: 'declared' } as const];
  const startedAt = '2026-11-17T09:00:00.000Z';
  return JSON.stringify(reportOf(steps, { id: runBy(identity), branch: mark, startedAt }));
}

export const HTTP_EXAMPLES: HttpExamples = {
  'fastify /runs': [
    { path: '/runs', headers: BROWSER, isLive: true },
    { path: '/runs?branch=main', isLive: true },
  ],
  'fastify /runs/trends': [{ path: '/runs/trends', headers: BROWSER, isLive: true }],
  'fastify /runs/:id': [{ path: '/runs/a-run', headers: BROWSER }],
  'fastify /misses': [{ path: '/misses?days=30', headers: BROWSER }],
  'fastify /action/:key': [{ path: `/action/${KEY.hash}?to=${DIGESTS.small.hash}`, headers: BROWSER }],
  'fastify /hermeticity': [{ path: '/hermeticity', headers: BROWSER, isLive: true }],
  'fastify /storage': [{ path: '/storage', headers: BROWSER, isLive: true }],
  'fastify /setup': [{ path: '/setup?team=web', headers: BROWSER, isLive: true }],
  'fastify /~assets/:name': [{ path: '/~assets/style.css' }],
  'fastify /login': [
    {
      path: '/login?next=/runs',
      headers: { ...BROWSER, ...FORM_TYPE },
      body: (identity) => `token=${identity}`,
    },
  ],
  'fastify /logout': [{ path: '/logout', headers: { ...BROWSER, ...FORM_TYPE }, body: () => '' }],
  'fastify /api/v1/runs': [
    {
      path: '/api/v1/runs?namespace=web',
      headers: JSON_TYPE,
      body: reportBy,
      storedBy: 'POST',
      isLive: true,
    },
    { path: '/api/v1/runs?branch=main&limit=1', isLive: true },
  ],
  'fastify /api/v1/runs/:id': [{ path: `/api/v1/runs/${runBy('main')}` }],
  'fastify /api/v1/openapi.json': [{ path: '/api/v1/openapi.json' }],
  'fastify /api/v1/now': [{ path: '/api/v1/now', isLive: true }],
  'fastify /api/v1/tail': [{ path: '/api/v1/tail', isLive: true }],
  'fastify /api/v1/figures': [{ path: '/api/v1/figures?from=2026-11-17', isLive: true }],
  'fastify /api/v1/storage': [{ path: '/api/v1/storage', isLive: true }],
  'fastify /api/v1/token': [{ path: '/api/v1/token' }],
  'fastify /api/v1/setup': [{ path: '/api/v1/setup', isLive: true }],
  'fastify /api/v1/hermeticity': [{ path: '/api/v1/hermeticity?days=90', isLive: true }],
  'fastify /api/v1/actions/:key': [{ path: `/api/v1/actions/${KEY.hash}` }],
  'fastify /api/v1/actions/:key/difference': [
    { path: `/api/v1/actions/${KEY.hash}/difference?to=${DIGESTS.small.hash}` },
  ],
  'fastify /api/v1/trends': [{ path: '/api/v1/trends?weeks=2', isLive: true }],
  'fastify /api/v1/misses': [{ path: '/api/v1/misses?days=90' }],
};
