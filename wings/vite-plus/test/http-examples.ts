// Valid HTTP requests for /vite-plus. test/attack/access-matrix.test.ts sends them.
import { contentBy, DIGESTS } from '../../../test/attack/access/content.ts';
import type { HttpExamples } from '../../../test/attack/access/http-examples.ts';
import { entryForm, FORM, question } from './rig.ts';

const BASE = '/vite-plus/team';

export const HTTP_EXAMPLES: HttpExamples = {
  'fastify /vite-plus/*': [
    {
      path: `${BASE}/store`,
      headers: FORM,
      body: (identity) =>
        entryForm({
          key: 'A',
          value: contentBy(identity, 'inputs of a task'),
          blob: contentBy(identity, 'outputs of a task'),
        }),
      storedBy: 'POST',
    },
    { path: `${BASE}/fetch`, body: () => question('A') },
    { path: `${BASE}/fetch`, body: () => question('B') },
    { path: `${BASE}/blob/${DIGESTS.small.hash}` },
  ],
};
