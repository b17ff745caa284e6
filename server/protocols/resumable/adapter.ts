// Resumable uploads of blobs, as in the IETF's draft-ietf-httpbis-resumable-upload.
//
//   PUT    PREFIX/cas/SHA256 with Upload-Complete   begins an upload at PREFIX/uploads/SHA256
//   HEAD   PREFIX/uploads/SHA256                    the committed size
//   PATCH  PREFIX/uploads/SHA256                    the next part
//   DELETE PREFIX/uploads/SHA256                    cancels it
//
// A server without this protocol takes the same PUT as a whole upload, so a client need not ask first. The
// URL follows from the content, so a client finds its upload again after a crash. While one connection sends
// an upload, another cannot join it: it sends the whole blob by itself.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Hash, parseHash } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { DEFAULT_NAMESPACE, type Namespace, parseRequestedNamespace } from '../../../core/namespace.ts';
import { all } from '../../access/rights.ts';
import type { ServerContext } from '../../context.ts';
import { jsonErrors } from '../../http/error-response.ts';
import { Exchange } from '../../http/exchange.ts';
import { answerStatus, beginUpload, cancelUpload, continueUpload, type UploadAddress } from './upload.ts';

const UPLOAD_ERRORS = jsonErrors('HEAD, PATCH, DELETE');
const PATH = /^(?:\/(.+))?\/uploads\/([^/]*)$/;

/** Returns false, without any effect, if the URL is not of this protocol. */
export function resumable(
  request: IncomingMessage,
  response: ServerResponse,
  context: ServerContext,
): boolean {
  const [, prefix, hash] = PATH.exec(request.url ?? '') ?? [];
  if (hash === undefined) return false;
  new Exchange(request, response, context, 'cas', UPLOAD_ERRORS).run((exchange) =>
    answer(exchange, prefix, hash),
  );
  return true;
}

/** Answers a PUT on /cas with Upload-Complete. Returns undefined for any other PUT. */
export function resumablePut(
  exchange: Exchange,
  namespace: Namespace,
  hash: Hash,
): Promise<void> | undefined {
  const isAsked = exchange.request.headers['upload-complete'] !== undefined;
  return isAsked ? beginUpload(exchange, { namespace, hash }) : undefined;
}

function answer(exchange: Exchange, prefix: string | undefined, hash: string): Promise<void> {
  exchange.authorize(all('blobs:write'));
  const address: UploadAddress = {
    namespace: prefix === undefined ? DEFAULT_NAMESPACE : parseRequestedNamespace(prefix),
    hash: parseHash(hash),
  };
  switch (exchange.method) {
    case 'HEAD':
    case 'GET':
      return answerStatus(exchange, address);
    case 'PATCH':
      return continueUpload(exchange, address);
    case 'DELETE':
      return cancelUpload(exchange, address);
    default:
      throw new AssayError('ASSAY_METHOD_NOT_ALLOWED', `this address does not accept ${exchange.method}`);
  }
}
