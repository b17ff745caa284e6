// Stores the body of a request as a blob, and returns its digest. Tools with opaque keys do not announce a
// hash.
import type { Digest, Hash } from '../../../core/digest.ts';
import { STORE } from '../../../store/limits.ts';
import type { Exchange } from '../../http/exchange.ts';
import { announcedSize, receiveStream, receiveWhole } from '../../http/upload.ts';
import { withChecksums } from './checksums.ts';

export async function receiveBlob(exchange: Exchange, hash?: Hash): Promise<Digest> {
  const { store } = exchange;
  const { limits, lifecycle } = exchange.server;
  const size = announcedSize(exchange.request);
  const isSmall = size !== undefined && size <= STORE.inlineBytes;
  const content = isSmall
    ? await receiveWhole(exchange, limits.maxBlobBytes)
    : receiveStream(exchange, limits.maxBlobBytes);
  const checked = withChecksums(content, exchange.request.headers);
  return lifecycle.whileWriting(() => store.blobs.put({ hash, size }, checked));
}
