// /cas: content by its own hash. It can never change, and tells every cache between so.
import type { Hash } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { STORE } from '../../../core/limits.ts';
import { askedSpan, sendBlob } from '../../download.ts';
import type { Exchange } from '../../exchange.ts';
import type { Headers } from '../../refusal.ts';
import { announcedSize, receiveStream, receiveWhole } from '../../upload.ts';

export async function getBlob(exchange: Exchange, hash: Hash): Promise<void> {
  const { store, metrics } = exchange.server;
  const { headers: asked } = exchange.request;
  const blob = await store.blobs.get(hash);
  metrics.lookedUp('cas', blob !== undefined);
  if (!blob) return exchange.answerMiss();
  const entityTag = `"${hash}"`;
  const headers = describe(entityTag);
  if (holds(asked['if-none-match'], entityTag)) return exchange.answerUnchanged(headers);
  const span = asked.range === undefined ? undefined : askedSpan(exchange, blob.size, entityTag);
  if (span === 'beyond') return exchange.refuse(beyond(blob.size), ['content-range', `bytes */${blob.size}`]);
  return sendBlob(exchange, blob, headers, span);
}

function describe(entityTag: string): Headers {
  return [
    'content-type',
    'application/octet-stream',
    'etag',
    entityTag,
    'cache-control',
    'max-age=31536000, immutable',
  ];
}

export async function putBlob(exchange: Exchange, hash: Hash): Promise<void> {
  const { store, limits, lifecycle } = exchange.server;
  const size = announcedSize(exchange.request);
  const isSmall = size !== undefined && size <= STORE.inlineBytes;
  const content = isSmall
    ? await receiveWhole(exchange, limits.maxBlobBytes)
    : receiveStream(exchange, limits.maxBlobBytes);
  await lifecycle.whileWriting(() => store.blobs.put({ hash, size }, content));
  exchange.answerStored([]);
}

/** True when the client says that it has this content: all its tags are compared, weak or not, as RFC 9110 asks. */
function holds(ifNoneMatch: string | undefined, entityTag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.split(',').some((tag) => ['*', entityTag, `W/${entityTag}`].includes(tag.trim()));
}

function beyond(size: number): AssayError {
  return new AssayError('ASSAY_BAD_RANGE', `this blob has ${size} bytes`);
}
