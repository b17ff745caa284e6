// Resumable uploads of blobs, with the verbs of the IETF's draft (draft-ietf-httpbis-resumable-upload): a PUT
// on /cas that carries Upload-Complete begins one, at <prefix>/uploads/<sha256>; HEAD there says how far it
// has come, PATCH sends more, DELETE ends it. A server that knows nothing of it takes the same PUT as a whole
// upload, so a client need not ask first.
//
// The address follows from the content, so a client that has died finds its upload again. Who comes while
// another is sending the same is not let in between: it sends its own, whole.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Hash, parseHash } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { DEFAULT_NAMESPACE, type Namespace, parseNamespace } from '../../../core/namespace.ts';
import type { ServerContext } from '../../context.ts';
import { jsonErrors } from '../../http/error-response.ts';
import { Exchange } from '../../http/exchange.ts';
import { answerStatus, beginUpload, cancelUpload, continueUpload, type UploadAddress } from './upload.ts';

const UPLOAD_ERRORS = jsonErrors('HEAD, PATCH, DELETE');
const PATH = /^(?:\/(.+))?\/uploads\/([^/]*)$/;

/** False when the address is none of this protocol's; then nothing has happened. */
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

/** A PUT on /cas that wants to be resumable; undefined for one that does not. */
export function resumablePut(
  exchange: Exchange,
  namespace: Namespace,
  hash: Hash,
): Promise<void> | undefined {
  const isAsked = exchange.request.headers['upload-complete'] !== undefined;
  return isAsked ? beginUpload(exchange, { namespace, hash }) : undefined;
}

function answer(exchange: Exchange, prefix: string | undefined, hash: string): Promise<void> {
  exchange.authorize();
  exchange.authorizeWrite();
  const address: UploadAddress = {
    namespace: prefix === undefined ? DEFAULT_NAMESPACE : parseNamespace(prefix),
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
      throw new AssayError('ASSAY_METHOD_NOT_ALLOWED', `${exchange.method} is not taken here`);
  }
}
