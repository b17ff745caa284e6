// Nx's self-hosted cache: /v1/cache/KEY, at the root or below /nx/NAMESPACE/.
//
// Nx fails the task when a body breaks off, so the server verifies the whole artifact before it sends the
// first byte. Nx's records are written once: a second PUT with other content gets 409, which Nx ignores. Of a
// PUT it also ignores 403, and it fails the task with every other status and with a broken connection.
import { AssayError } from '../../../core/errors.ts';
import { parseRequestedNamespace } from '../../../core/namespace.ts';
import type { ErrorFormat } from '../../http/error-response.ts';
import { type ArtifactKey, plainAdapter } from '../shared/plain-adapter.ts';

const ADDRESS = /^(?:(?<namespace>.+)\/)?v1\/cache\/(?<key>[0-9A-Za-z_-]{1,255})$/;

/** Nx prints the body of a 401 unchanged, and only if the type is exactly this. */
const TEXT_ERRORS: ErrorFormat = {
  type: 'text/plain',
  methods: 'GET, HEAD, PUT',
  body: ({ code, entry: { hint } }, message) => `${code}: ${message}\n${hint}`,
};

export const nx = plainAdapter({
  protocol: 'nx',
  base: '/nx/',
  atRoot: 'v1/cache/',
  form: '/v1/cache/KEY or /nx/[NAMESPACE/]v1/cache/KEY',
  parseKey,
  errors: TEXT_ERRORS,
  verifyFirst: true,
  deniedPutStatus: 403,
  answerPut(exchange, outcome) {
    if (outcome === 'diverged')
      throw new AssayError('ASSAY_RECORD_EXISTS', 'the key already has other content');
    exchange.answerStored(['assay-outcome', outcome]);
  },
});

function parseKey(path: string): ArtifactKey | undefined {
  const { namespace = '', key } = ADDRESS.exec(path)?.groups ?? {};
  return key === undefined ? undefined : { namespace: parseRequestedNamespace(namespace), key };
}
