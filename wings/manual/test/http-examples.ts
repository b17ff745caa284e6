// Valid HTTP requests for /docs. test/attack/access-matrix.test.ts sends them.
import type { HttpExamples } from '../../../test/attack/access/http-examples.ts';

export const HTTP_EXAMPLES: HttpExamples = {
  'fastify /docs': [{ path: '/docs' }],
  'fastify /docs/*': [{ path: '/docs/' }],
};
