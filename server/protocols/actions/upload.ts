// Receives an upload at a signed URL. The requests are those of Azure Blob Storage.
import { parseHash } from '../../../core/digest.ts';
import type { Exchange } from '../../http/exchange.ts';
import { receiveUpload } from '../azure/upload.ts';
import { badKey, methodNotAllowed } from '../shared/adapter.ts';
import { PUT_ARTIFACT } from '../shared/artifact-exchange.ts';
import { pendingAddress } from './entry.ts';
import { reservationsOf } from './reservations.ts';

const SUBJECT = /^upload\/(?<name>[0-9a-f]{64})\/(?<uploadId>[0-9a-f]{32})$/;

export async function receiveSignedUpload(
  exchange: Exchange,
  subject: string,
  query: URLSearchParams,
): Promise<void> {
  const { name, uploadId } = SUBJECT.exec(subject)?.groups ?? {};
  if (name === undefined || uploadId === undefined)
    throw badKey('the URL in the response of CreateCacheEntry');
  if (exchange.method !== 'PUT') throw methodNotAllowed(exchange);
  exchange.require(PUT_ARTIFACT);
  const entry = parseHash(name);
  const address = pendingAddress(entry, uploadId);
  await reservationsOf(exchange.server).whileArriving(entry, uploadId, () =>
    receiveUpload(exchange, { address, uploadId, query }),
  );
}
