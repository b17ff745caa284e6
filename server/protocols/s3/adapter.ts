// S3 as sccache speaks it: objects by path style, /s3/BUCKET/KEY; GET, HEAD and PUT. A bucket is a namespace and need not
// be made. An object may be written again, as in S3.
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

/** By signature where there are keys. The server's token, which the client can also be told to send, is as good. */
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
  refuseUncheckable(exchange);
  const outcome = await receiveArtifact(exchange, address, { replace: true, hash: signedHash(exchange) });
  exchange.answerStored(['assay-outcome', outcome]);
}

/** A checksum that can not be looked at here, or comes after the body, would be a promise that nobody keeps. */
function refuseUncheckable({ request: { headers } }: Exchange): void {
  const odd = Object.keys(headers).find((name) => UNCHECKABLE.test(name) && !isChecked(name));
  if (odd !== undefined) throw new AssayError('ASSAY_BAD_MESSAGE', `a PUT with ${odd} is not taken here`);
}

const UNCHECKABLE = /^x-amz-(checksum-|trailer$)/;

/** What the client signed to be the hash of the body; undefined where it signed that it does not say. */
function signedHash({ request }: Exchange): Hash | undefined {
  const sent = String(request.headers['x-amz-content-sha256'] ?? UNSIGNED);
  return sent === UNSIGNED ? undefined : parseHash(sent);
}

const ADDRESS = /^(?<bucket>[0-9A-Za-z_.-]+)\/(?<key>[\x21-\x7e]{1,1024})$/;
/** What an SDK adds to tell its calls apart; anything else asks for another operation than these. */
const HARMLESS_QUERY = /^(x-id=[A-Za-z]+)?$/;

function addressIn({ path, query }: RequestTarget): ResultAddress {
  const { bucket, key } = ADDRESS.exec(path)?.groups ?? {};
  const isObject = bucket !== undefined && key !== undefined && HARMLESS_QUERY.test(query);
  if (!isObject) throw badKey('/s3/BUCKET/KEY, for whole objects alone');
  return artifactAddress('s3', parseNamespace(bucket), key);
}
