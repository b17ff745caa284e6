// Valid HTTP requests for /mise. test/attack/access-matrix.test.ts sends them.
import { contentBy, markOf } from '../../../test/attack/access/content.ts';
import type { HttpExample, HttpExamples } from '../../../test/attack/access/http-examples.ts';
import { blob, commitOf, json, pathOf, type SentObject } from './rig.ts';

const BASE = '/mise/v1';
const NAMESPACE = { 'mise-cache-namespace': 'team' };
const CREATE = { ...NAMESPACE, 'if-none-match': '*' };

const file = await blob(contentBy('main', 'a file of a task'));
const action = await json({ version: 1, kind: 'task', task: markOf('main') });
const metadata = await json({ version: 1, kind: 'task', output: [] });

/** Its address is the hash of main's content: another identity sends its own, which is refused. */
const stored = ({ digest, bytes }: SentObject, what?: string): HttpExample => ({
  path: `${BASE}${pathOf('blobs', digest)}`,
  headers: CREATE,
  body: (identity) => (what === undefined ? bytes : contentBy(identity, what)),
  storedBy: 'PUT',
});

const reading = (path: string): HttpExample[] => [{ path: `${BASE}${path}`, headers: NAMESPACE }];

export const HTTP_EXAMPLES: HttpExamples = {
  'fastify /mise/v1/capabilities': reading('/capabilities'),
  'fastify /mise/v1/status': reading('/status'),
  'fastify /mise/v1/blobs::missing': [
    {
      path: `${BASE}/blobs:missing`,
      headers: NAMESPACE,
      body: () => JSON.stringify({ digests: [file.digest, action.digest] }),
    },
  ],
  'fastify /mise/v1/blobs/:algorithm/:hash/:size': [
    stored(file, 'a file of a task'),
    stored(action),
    stored(metadata),
    ...reading(pathOf('blobs', { algorithm: 'sha256', hash: '0'.repeat(64), size: 1 })),
  ],
  'fastify /mise/v1/action-results/:algorithm/:hash/:size': [
    {
      path: `${BASE}${pathOf('action-results', action.digest)}`,
      headers: CREATE,
      body: () => commitOf(action, metadata),
      storedBy: 'PUT',
    },
  ],
};
