// Valid HTTP requests for /bundles. test/attack/access-matrix.test.ts sends them.
import { KEY } from '../../../test/attack/access/content.ts';
import type { HttpExamples } from '../../../test/attack/access/http-examples.ts';

export const HTTP_EXAMPLES: HttpExamples = {
  'fastify /bundles/v1/records': [{}, { keys: [KEY.hash] }, { labels: [''], since: '2026-11-17' }].map(
    (asked) => ({
      path: '/bundles/v1/records',
      headers: { 'content-type': 'application/json' },
      body: () => JSON.stringify(asked),
    }),
  ),
};
