// POST /auth/token, as a fastify plugin: exchanges a token for a short one (RFC 8693).
//
// It needs no token besides the one in its body. Guarantees: no text of a token is in an answer that refuses
// it, or in the log, and no answer may be kept by a proxy.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AssayError, type ErrorCode } from '../../../core/errors.ts';
import type { Grant } from '../../access/identities.ts';
import { onlyMethods } from '../../http/app.ts';
import type { ErrorFormat } from '../../http/error-response.ts';
import { receiveWhole } from '../../http/upload.ts';
import { ACCESS } from '../../limits.ts';
import { FailedExchanges } from './failures.ts';
import { ACCESS_TOKEN, parseExchange } from './form.ts';

const PATH = '/auth/token';
const FORM = 'application/x-www-form-urlencoded';

/** OAuth's names of errors. All others are `invalid_request`, or the server's fault. */
const OAUTH_ERRORS: Partial<Record<ErrorCode, string>> = {
  ASSAY_GRANT_TYPE: 'unsupported_grant_type',
  ASSAY_TOKEN_SCOPE: 'invalid_scope',
  ASSAY_TOKEN_AUDIENCE: 'invalid_target',
  ASSAY_TOO_MANY_FAILURES: 'slow_down',
};

const ERRORS: ErrorFormat = {
  type: 'application/json',
  methods: 'POST',
  body: ({ code, entry: { hint, status } }, message) =>
    JSON.stringify({
      error: OAUTH_ERRORS[code] ?? (status >= 500 ? 'temporarily_unavailable' : 'invalid_request'),
      error_description: message,
      code,
      wayOut: hint,
    }),
};

export async function tokenExchange(app: FastifyInstance): Promise<void> {
  const config = { route: 'auth', errors: ERRORS, isPublic: true } as const;
  const failures = new FailedExchanges();
  onlyMethods(app, PATH, { config }, 'POST');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', receiveForm);

  app.post(PATH, { config }, async ({ body, exchange }, reply) => {
    const { tokenExchange: exchanges } = exchange.server;
    if (!exchanges) throw new AssayError('ASSAY_NOT_FOUND', 'this server exchanges no tokens');
    if (!(body instanceof URLSearchParams))
      throw new AssayError('ASSAY_BAD_MESSAGE', `the body must be a form (${FORM})`);
    const address = exchange.request.socket.remoteAddress ?? '';
    try {
      const grant = await exchanges.exchange(parseExchange(body));
      reply.header('cache-control', 'no-store').header('pragma', 'no-cache');
      return answerTo(grant);
    } catch (error) {
      if (error instanceof AssayError && error.entry.status < 500) failures.add(address);
      throw error;
    }
  });
}

async function receiveForm({ exchange, headers }: FastifyRequest): Promise<URLSearchParams | undefined> {
  const bytes = await receiveWhole(exchange, ACCESS.maxExchangeBytes);
  const [type] = (headers['content-type'] ?? '').split(';');
  return type?.trim().toLowerCase() === FORM ? new URLSearchParams(bytes.toString('utf8')) : undefined;
}

function answerTo({ token, accessKey, secretKey, identity, expiresAt }: Grant): object {
  return {
    access_token: token,
    issued_token_type: ACCESS_TOKEN,
    token_type: 'Bearer',
    expires_in: Math.max(0, Math.floor((expiresAt - Date.now()) / 1000)),
    scope: [...identity.rights].join(' '),
    namespace: identity.namespace,
    reads: identity.reads,
    s3_access_key: accessKey,
    s3_secret_key: secretKey,
  };
}
