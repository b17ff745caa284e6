// Valid HTTP requests for action leases. test/attack/access-matrix.test.ts sends them.
import { KEY, markOf } from '../../../test/attack/access/content.ts';
import type { HttpExample, HttpExamples } from '../../../test/attack/access/http-examples.ts';

const example = (method: string): HttpExample => ({
  path: `/action-leases/v1/${method}`,
  headers: { 'content-type': 'application/json' },
  isLive: true,
  body: (identity) =>
    JSON.stringify({
      ...{ namespace: '', key: KEY.hash, id: '7'.repeat(32), holder: markOf(identity) },
      ...{ fence: '1.1', waitMs: 1, reason: 'failed' },
    }),
});

export const HTTP_EXAMPLES: HttpExamples = Object.fromEntries(
  ['acquire', 'wait', 'heartbeat', 'release'].map((method) => [
    `fastify /action-leases/v1/${method}`,
    [example(method)],
  ]),
);
