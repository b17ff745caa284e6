// Requests that mean more than "this body under this key": kept as if they did not, they would leave something under the
// key that nobody meant. They are refused.
import type { IncomingHttpHeaders } from 'node:http';
import { AssayError } from '../../../core/errors.ts';
import type { Exchange } from '../../http/exchange.ts';
import { isCreateOnly } from './conditions.ts';

/** What holds of these can't be kept true while the body arrives; what does not hold has been refused before. */
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
  if (condition !== undefined) throw unsupported(`a PUT with ${condition}`);
  if (headers['if-none-match'] !== undefined && !isCreateOnly(exchange))
    throw unsupported('a PUT with If-None-Match, other than *,');
  if (isFramed(headers)) throw unsupported('a body in signed chunks (aws-chunked)');
}

/** Its body holds sizes and signatures between the bytes that are meant. */
function isFramed({ 'x-amz-content-sha256': sent }: IncomingHttpHeaders): boolean {
  return String(sent ?? '').startsWith('STREAMING-');
}

function unsupported(what: string): AssayError {
  return new AssayError('ASSAY_BAD_MESSAGE', `${what} is not taken here`);
}
