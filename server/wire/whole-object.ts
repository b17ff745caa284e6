// Requests that mean more than "this body under this key": kept as if they did not, they would leave something under the
// key that nobody meant. They are refused.
import type { IncomingHttpHeaders } from 'node:http';
import { AssayError } from '../../core/errors.ts';
import type { Exchange } from '../exchange.ts';

const CONDITIONS = [
  'if-match',
  'if-none-match',
  'if-unmodified-since',
  'content-range',
  'x-amz-copy-source',
  'x-ms-copy-source',
];

export function refuseAllButWhole({ request: { headers } }: Exchange): void {
  const condition = CONDITIONS.find((name) => headers[name] !== undefined);
  if (condition !== undefined) throw notSpoken(`a PUT with ${condition}`);
  if (isFramed(headers)) throw notSpoken('a body in signed chunks (aws-chunked)');
  if (isEncoded(headers)) throw notSpoken('a body that has to be decoded');
}

/** Its body holds sizes and signatures between the bytes that are meant. */
function isFramed({
  'content-encoding': encoding = '',
  'x-amz-content-sha256': sent,
}: IncomingHttpHeaders): boolean {
  return encoding.includes('aws-chunked') || String(sent ?? '').startsWith('STREAMING-');
}

/** It would come back as it was sent, and nobody would be told to decode it. */
function isEncoded({
  'content-encoding': encoding = 'identity',
  'transfer-encoding': transfer = 'chunked',
}: IncomingHttpHeaders): boolean {
  return encoding.toLowerCase() !== 'identity' || transfer.toLowerCase() !== 'chunked';
}

function notSpoken(what: string): AssayError {
  return new AssayError('ASSAY_BAD_MESSAGE', `${what} is not taken here`);
}
