// Valid HTTP requests for /admin. test/attack/access-matrix.test.ts sends them.
import { KEY } from '../../../test/attack/access/content.ts';
import type { HttpExamples } from '../../../test/attack/access/http-examples.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

export const HTTP_EXAMPLES: HttpExamples = {
  'fastify /admin/forget': [
    ...[{ namespace: 'acme/app/main' }, { writer: 'main' }, { keys: [KEY.hash] }].map((selection) => ({
      path: '/admin/forget',
      headers: JSON_TYPE,
      body: () => JSON.stringify({ ...selection, remove: true }),
    })),
  ],
  'fastify /admin/divergences': [
    { path: '/admin/divergences' },
    { path: '/admin/divergences?namespace=acme/app/main' },
  ],
};
