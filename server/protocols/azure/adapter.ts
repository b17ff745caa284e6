// Azure Blob Storage as lage and backfill use it: /azure/CONTAINER/BLOB.
// A container is a namespace and needs no creation. A PUT replaces a blob, as in Azure.
//
// The clients add a shared access signature to each URL: `sig=TOKEN` carries the server's token. SharedKey
// signatures are not checked, so they do not authorize a request to a server with a token.
import { AssayError } from '../../../core/errors.ts';
import { parseRequestedNamespace } from '../../../core/namespace.ts';
import type { Requirement } from '../../access/rights.ts';
import type { Exchange } from '../../http/exchange.ts';
import { type Adapter, badKey, methodNotAllowed } from '../shared/adapter.ts';
import { artifactAddress } from '../shared/artifact.ts';
import { GET_ARTIFACT, PUT_ARTIFACT, sendArtifact } from '../shared/artifact-exchange.ts';
import { XML_ERRORS } from '../shared/xml-error.ts';
import { answerHeaders, rangeHeader } from './headers.ts';
import { receiveUpload } from './upload.ts';

const ADDRESS = /^(?<container>[0-9A-Za-z_.-]+)\/(?<blob>[\x21-\x7e]{1,1024})$/;

export const azure: Adapter = {
  protocol: 'azure',
  base: '/azure/',
  errors: XML_ERRORS,
  async answer(exchange, { path, query: text }) {
    const query = new URLSearchParams(text);
    authorize(exchange, query, exchange.method === 'PUT' ? PUT_ARTIFACT : GET_ARTIFACT);
    const { container, blob } = ADDRESS.exec(path)?.groups ?? {};
    if (container === undefined || blob === undefined) throw badKey('/azure/CONTAINER/BLOB');
    const address = artifactAddress('azure', parseRequestedNamespace(container), blob);
    switch (exchange.method) {
      case 'GET':
      case 'HEAD':
        refuseOtherOperations(query);
        return sendArtifact(exchange, address, {
          protocol: 'azure',
          describe: answerHeaders,
          range: rangeHeader(exchange.request),
        });
      case 'PUT':
        return receiveUpload(exchange, { address, uploadId: `${address.namespace}/${blob}`, query });
      default:
        throw methodNotAllowed(exchange);
    }
  },
};

function authorize(exchange: Exchange, query: URLSearchParams, requirement: Requirement): void {
  const { access } = exchange.server;
  const signature = query.get('sig');
  const signed = signature === null ? undefined : access.ofToken(signature);
  exchange.authorizeAs(signed ?? access.ofHeader(exchange.request.headers.authorization), requirement);
}

/** Refuses reads of block lists, container properties and so on: the answer must not be the blob. */
function refuseOtherOperations(query: URLSearchParams): void {
  if (query.has('comp') || query.has('restype'))
    throw new AssayError('ASSAY_BAD_MESSAGE', 'GET with comp or restype is not supported');
}
