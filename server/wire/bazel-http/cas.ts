// /cas: content by its own hash. It can never change, and tells every cache between so.
import type { Hash } from '../../../core/digest.ts';
import type { Exchange } from '../../exchange.ts';

import { answerBlob } from '../blob-answer.ts';
import { receiveBlob } from '../receive-blob.ts';

const FOR_EVER = ['cache-control', 'max-age=31536000, immutable'];

export async function getBlob(exchange: Exchange, hash: Hash): Promise<void> {
  const { store, metrics } = exchange.server;
  const blob = await store.blobs.get(hash);
  metrics.lookedUp('cas', blob !== undefined);
  return blob ? answerBlob(exchange, hash, blob, FOR_EVER) : exchange.answerMiss();
}

export async function putBlob(exchange: Exchange, hash: Hash): Promise<void> {
  await receiveBlob(exchange, hash);
  exchange.answerStored([]);
}
