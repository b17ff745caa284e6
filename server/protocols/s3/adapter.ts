// S3 as sccache uses it: GET, HEAD and PUT of /s3/BUCKET/KEY (path style).
// A bucket is a namespace and needs no creation. A PUT replaces an object, as in S3.
import { type Hash, parseHash } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { parseRequestedNamespace } from '../../../core/namespace.ts';
import type { ResultAddress } from '../../../store/store.ts';
import type { Requirement } from '../../access/rights.ts';
import type { Exchange } from '../../http/exchange.ts';
import { type Adapter, badKey, methodNotAllowed, type RequestTarget } from '../shared/adapter.ts';
import { artifactAddress } from '../shared/artifact.ts';
import { GET_ARTIFACT, PUT_ARTIFACT, receiveArtifact, sendArtifact } from '../shared/artifact-exchange.ts';
import { isChecked } from '../shared/checksums.ts';
import { XML_ERRORS } from '../shared/xml-error.ts';

export const s3: Adapter = {
  protocol: 's3',
  base: '/s3/',
  errors: XML_ERRORS,
  async answer(exchange, target) {
    authorize(exchange, exchange.method === 'PUT' ? PUT_ARTIFACT : GET_ARTIFACT);
    const address = addressIn(target);
    switch (exchange.method) {
      case 'GET':
      case 'HEAD':
        return sendArtifact(exchange, address, { protocol: 's3' });
      case 'PUT':
        return putObject(exchange, address);
      default:
        throw methodNotAllowed(exchange);
    }
  },
};

/**
 * A request needs a valid signature or a token. A server with S3 keys and no token accepts no request without
 * a signature.
 */
function authorize(exchange: Exchange, requirement: Requirement): void {
  const { request, server } = exchange;
  const { access, signatures } = server;
  const signed = signatures.identify(request);
  const isByToken = !(signatures.isRequired && access.isOpen);
  const identity = signed ?? (isByToken ? access.ofHeader(request.headers.authorization) : undefined);
  if (!identity && signatures.isRequired)
    throw new AssayError('ASSAY_BAD_SIGNATURE', 'the request is not signed with the server’s S3 keys');
  exchange.authorizeAs(identity, requirement);
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
  return artifactAddress('s3', parseRequestedNamespace(bucket), key);
}
