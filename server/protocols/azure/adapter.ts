// Azure's blob storage as lage and backfill use it: /azure/CONTAINER/BLOB. A container is a namespace and need not be made. A blob
// may be written again, as in Azure.
//
// The server's token is taken as the signature of a shared access signature (`sig=TOKEN`), which these clients add to each
// address. SharedKey is not checked, and so does not open a server that has a token.
import { AssayError } from '../../../core/errors.ts';
import { parseNamespace } from '../../../core/namespace.ts';
import type { Exchange } from '../../http/exchange.ts';
import { type Adapter, badKey, methodNotAllowed } from '../shared/adapter.ts';
import { artifactAddress } from '../shared/artifact.ts';
import { sendArtifact } from '../shared/artifact-exchange.ts';
import { XML_ERRORS } from '../shared/xml-error.ts';
import { receiveUpload } from './upload.ts';

const ADDRESS = /^(?<container>[0-9A-Za-z_.-]+)\/(?<blob>[\x21-\x7e]{1,1024})$/;

export const azure: Adapter = {
  protocol: 'azure',
  base: '/azure/',
  errors: XML_ERRORS,
  async answer(exchange, { path, query: text }) {
    const query = new URLSearchParams(text);
    authorize(exchange, query);
    const { container, blob } = ADDRESS.exec(path)?.groups ?? {};
    if (container === undefined || blob === undefined) throw badKey('/azure/CONTAINER/BLOB');
    const address = artifactAddress('azure', parseNamespace(container), blob);
    switch (exchange.method) {
      case 'GET':
      case 'HEAD':
        refuseOtherOperations(query);
        return sendArtifact(exchange, address, { protocol: 'azure' });
      case 'PUT':
        return receiveUpload(exchange, { address, uploadId: `${address.namespace}/${blob}`, query });
      default:
        throw methodNotAllowed(exchange);
    }
  },
};

function authorize(exchange: Exchange, query: URLSearchParams): void {
  const signature = query.get('sig');
  if (signature === null || !exchange.server.tokenCheck.accepts(`Bearer ${signature}`)) exchange.authorize();
}

/** Lists of blocks, properties of containers and the like would otherwise be answered with a blob. */
function refuseOtherOperations(query: URLSearchParams): void {
  if (query.has('comp') || query.has('restype'))
    throw new AssayError('ASSAY_BAD_MESSAGE', 'blobs are read as they are, with no comp or restype');
}
