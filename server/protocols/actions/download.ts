// What a signed download URL gives: the blob that its ticket names, whole or in part.
import { parseHash } from '../../../core/digest.ts';
import type { Exchange } from '../../http/exchange.ts';
import { methodNotAllowed } from '../shared/adapter.ts';
import { answerBlob } from '../shared/blob-answer.ts';

export async function sendDownload(exchange: Exchange, subject: string): Promise<void> {
  if (exchange.method !== 'GET' && exchange.method !== 'HEAD') throw methodNotAllowed(exchange);
  const hash = parseHash(subject.slice('download/'.length));
  const blob = await exchange.server.store.blobs.get(hash);
  return blob ? answerBlob(exchange, hash, blob, []) : exchange.answerMiss();
}
