// Answers GET or HEAD with a stored blob. Its hash is the entity tag. Ranges and conditions are supported.
import type { Hash } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import type { Blob } from '../../../store/store.ts';
import { requestedRange, sendBlob } from '../../http/download.ts';
import type { Headers } from '../../http/error-response.ts';
import type { Exchange } from '../../http/exchange.ts';
import { evaluateConditions, preconditionFailed } from './conditions.ts';

/** Stored bytes may be a page of somebody else: no browser may guess so. */
export const NOSNIFF = ['x-content-type-options', 'nosniff'];
export const BYTES = ['content-type', 'application/octet-stream', ...NOSNIFF];
const DESCRIPTION = [...BYTES, 'accept-ranges', 'bytes', 'etag'];

/** `more`: headers besides the content type and the entity tag. `rangeHeader`: of a protocol with its own. */
export function answerBlob(
  exchange: Exchange,
  hash: Hash,
  blob: Blob,
  more: Headers,
  rangeHeader: string | undefined = exchange.request.headers.range,
): Promise<void> | void {
  const { headers: asked } = exchange.request;
  const entityTag = `"${hash}"`;
  const headers = [...DESCRIPTION, entityTag, ...more];
  const outcome = evaluateConditions(asked, entityTag);
  if (outcome === 'failed') throw preconditionFailed();
  if (outcome === 'known') return exchange.answerUnchanged(headers);
  const range =
    rangeHeader === undefined ? undefined : requestedRange(exchange, rangeHeader, blob.size, entityTag);
  if (range === 'unsatisfiable')
    return exchange.answerError(beyond(blob.size), ['content-range', `bytes */${blob.size}`]);
  return sendBlob(exchange, blob, headers, range);
}

function beyond(size: number): AssayError {
  return new AssayError('ASSAY_BAD_RANGE', `this blob has ${size} bytes`);
}
