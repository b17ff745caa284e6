// S3 as sccache uses it: GET, HEAD and PUT of /s3/BUCKET/KEY (path style).
// A bucket is a namespace and needs no creation. A PUT replaces an object, as in S3.
import { type Hash, parseHash } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { parseNamespace } from '../../../core/namespace.ts';
import type { ResultAddress } from '../../../store/store.ts';
import type { Exchange } from '../../http/exchange.ts';
import { type Adapter, badKey, methodNotAllowed, type RequestTarget } from '../shared/adapter.ts';
import { artifactAddress } from '../shared/artifact.ts';
import { receiveArtifact, sendArtifact } from '../shared/artifact-exchange.ts';
import { isChecked } from '../shared/checksums.ts';
import { XML_ERRORS } from '../shared/xml-error.ts';

export const s3: Adapter = {
  protocol: 's3',
  base: '/s3/',
  errors: XML_ERRORS,
  async answer(exchange, target) {
    authorize(exchange);
    const address = addressIn(target);
    switch (exchange.method) {
      case 'GET':
      case 'HEAD':
        return sendArtifact(exchange, address, { protocol: 's3' });
      case 'PUT':
        exchange.authorizeWrite();
        return putObject(exchange, address);
      default:
        throw methodNotAllowed(exchange);
    }
  },
};

/**
 * With S3 keys, a request needs a valid signature or the server's token. Without keys, only the token counts.
 */
function authorize(exchange: Exchange): void {
  const { request, server } = exchange;
  const { tokenCheck, signatures } = server;
  const hasToken = tokenCheck.isRequired && tokenCheck.accepts(request.headers.authorization);
  if (!signatures) exchange.authorize();
  else if (!hasToken && !signatures.accepts(request))
    throw new AssayError('ASSAY_BAD_SIGNATURE', 'the request is not signed with the server’s S3 keys');
}

const UNSIGNED = 'UNSIGNED-PAYLOAD';

async function putObject(exchange: Exchange, address: ResultAddress): Promise<void> {
  checkChecksumHeaders(exchange);
  const outcome = await receiveArtifact(exchange, address, { replace: true, hash: signedHash(exchange) });
  exchange.answerStored(['assay-outcome', outcome]);
}

/**
 * Refuses a checksum that the server cannot verify, or that follows the body: ignoring it would be unsafe.
 */
function checkChecksumHeaders({ request: { headers } }: Exchange): void {
  const unsupported = Object.keys(headers).find((name) => CHECKSUM_HEADERS.test(name) && !isChecked(name));
  if (unsupported !== undefined)
    throw new AssayError('ASSAY_BAD_MESSAGE', `PUT with ${unsupported} is not supported`);
}

const CHECKSUM_HEADERS = /^x-amz-(checksum-|trailer$)/;

/** The signed hash of the body. Undefined for an unsigned payload. */
function signedHash({ request }: Exchange): Hash | undefined {
  const sent = String(request.headers['x-amz-content-sha256'] ?? UNSIGNED);
  return sent === UNSIGNED ? undefined : parseHash(sent);
}

const ADDRESS = /^(?<bucket>[0-9A-Za-z_.-]+)\/(?<key>[\x21-\x7e]{1,1024})$/;
/**
 * SDKs add x-id to name the operation. Any other query asks for an operation that this adapter does not have.
 */
const ALLOWED_QUERY = /^(x-id=[A-Za-z]+)?$/;

function addressIn({ path, query }: RequestTarget): ResultAddress {
  const { bucket, key } = ADDRESS.exec(path)?.groups ?? {};
  const isObject = bucket !== undefined && key !== undefined && ALLOWED_QUERY.test(query);
  if (!isObject) throw badKey('/s3/BUCKET/KEY, without a query');
  return artifactAddress('s3', parseNamespace(bucket), key);
}
