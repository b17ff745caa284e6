// /cas: GET and PUT of a blob by its hash. A blob never changes, so proxies may cache it forever.
import type { Hash } from '../../../core/digest.ts';
import type { Exchange } from '../../http/exchange.ts';

import { answerBlob } from '../shared/blob-answer.ts';
import { checkPreconditions } from '../shared/conditions.ts';
import { receiveBlob } from '../shared/receive-blob.ts';
import { answerCompressed } from './compressed-answer.ts';

const FOR_EVER = ['cache-control', 'max-age=31536000, immutable', 'vary', 'accept-encoding'];

export async function getBlob(exchange: Exchange, hash: Hash): Promise<void> {
  const {
    store,
    server: { metrics },
  } = exchange;
  const blob = await store.blobs.get(hash);
  metrics.lookedUp('cas', blob !== undefined);
  if (!blob) return exchange.answerMiss();
  if (exchange.request.headers['accept-encoding'] !== undefined) {
    if (await answerCompressed(exchange, hash, blob, FOR_EVER)) return;
  }
  return answerBlob(exchange, hash, blob, FOR_EVER);
}

export function checkBlobPreconditions(exchange: Exchange, hash: Hash): Promise<void> {
  const { blobs } = exchange.store;
  return checkPreconditions(exchange, async () => ((await blobs.get(hash)) ? `"${hash}"` : undefined));
}

export async function putBlob(exchange: Exchange, hash: Hash): Promise<void> {
  await receiveBlob(exchange, hash);
  exchange.answerStored([]);
}
