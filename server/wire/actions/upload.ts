// What a signed upload URL takes, as Azure's blob storage does.
import { parseHash } from '../../../core/digest.ts';
import type { Exchange } from '../../exchange.ts';
import { badKey, notTaken } from '../adapter.ts';
import { receiveUpload } from '../azure/upload.ts';
import { pendingAddressOf } from './entry.ts';

const SUBJECT = /^upload\/(?<pending>[0-9a-f]{64})\/(?<uploadId>[0-9a-f]{32})$/;

export async function receiveSignedUpload(
  exchange: Exchange,
  subject: string,
  query: URLSearchParams,
): Promise<void> {
  const { pending, uploadId } = SUBJECT.exec(subject)?.groups ?? {};
  if (pending === undefined || uploadId === undefined) throw badKey('those that CreateCacheEntry gives');
  if (exchange.method !== 'PUT') throw notTaken(exchange);
  return receiveUpload(exchange, { target: pendingAddressOf(parseHash(pending)), uploadId, query });
}
