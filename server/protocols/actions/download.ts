// Answers a signed download URL with the blob that it names, or a range of it.
import { parseHash } from '../../../core/digest.ts';
import { all } from '../../access/rights.ts';
import type { Exchange } from '../../http/exchange.ts';
import { answerHeaders, rangeHeader } from '../azure/headers.ts';
import { methodNotAllowed } from '../shared/adapter.ts';
import { answerBlob } from '../shared/blob-answer.ts';

export async function sendDownload(exchange: Exchange, subject: string): Promise<void> {
  if (exchange.method !== 'GET' && exchange.method !== 'HEAD') throw methodNotAllowed(exchange);
  exchange.require(all('blobs:read'));
  const hash = parseHash(subject.slice('download/'.length));
  const blob = await exchange.store.blobs.get(hash);
  if (!blob) return exchange.answerMiss();
  return answerBlob(exchange, hash, blob, answerHeaders(), rangeHeader(exchange.request));
}
