// Refuses PUT requests that are more than "store this body under this key": copies, ranges and framed bodies.
// Storing such a body as it is would put wrong content under the key.
import type { IncomingHttpHeaders } from 'node:http';
import { AssayError } from '../../../core/errors.ts';
import type { Exchange } from '../../http/exchange.ts';
import { isCreateOnly } from './conditions.ts';

/** Headers that a PUT may not have. A condition that holds now may not hold when the body has arrived. */
const CONDITIONS = [
  'if-match',
  'if-unmodified-since',
  'content-range',
  'x-amz-copy-source',
  'x-ms-copy-source',
];

export function refusePartialPut(exchange: Exchange): void {
  const { headers } = exchange.request;
  const condition = CONDITIONS.find((name) => headers[name] !== undefined);
  if (condition !== undefined) throw unsupported(`PUT with ${condition}`);
  if (headers['if-none-match'] !== undefined && !isCreateOnly(exchange))
    throw unsupported('PUT with If-None-Match other than *');
  if (isFramed(headers)) throw unsupported('a body in signed chunks (aws-chunked)');
}

/** True for aws-chunked: the body has sizes and signatures between the content. */
function isFramed({ 'x-amz-content-sha256': sent }: IncomingHttpHeaders): boolean {
  return String(sent ?? '').startsWith('STREAMING-');
}

function unsupported(what: string): AssayError {
  return new AssayError('ASSAY_BAD_MESSAGE', `${what} is not supported`);
}
