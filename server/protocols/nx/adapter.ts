// Nx's self-hosted cache: /v1/cache/KEY, at the root or below /nx/NAMESPACE/.
//
// Nx fails the task when a body breaks off, so the server verifies the whole artifact before it sends the
// first byte. Nx's records are written once: a second PUT with other content gets 409, which Nx ignores.
import { AssayError } from '../../../core/errors.ts';
import { parseNamespace } from '../../../core/namespace.ts';
import type { ErrorFormat } from '../../http/error-response.ts';
import { type ArtifactKey, plainAdapter } from '../shared/plain-adapter.ts';

const ADDRESS = /^(?:(?<namespace>.+)\/)?v1\/cache\/(?<key>[0-9A-Za-z_-]{1,255})$/;

/** Nx prints the body of an error response unchanged, and only if it is text. */
const TEXT_ERRORS: ErrorFormat = {
  type: 'text/plain; charset=utf-8',
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
  answerPut(exchange, outcome) {
    if (outcome === 'diverged')
      throw new AssayError('ASSAY_RECORD_EXISTS', 'the key already has other content');
    exchange.answerStored(['assay-outcome', outcome]);
  },
});

function parseKey(path: string): ArtifactKey | undefined {
  const { namespace = '', key } = ADDRESS.exec(path)?.groups ?? {};
  return key === undefined ? undefined : { namespace: parseNamespace(namespace), key };
}
