// Splits Bazel's stream into requests: a varint length, then the message. Each is passed on complete.
//
// @bazel/worker accepts a message as complete when as many bytes as its header are still missing, and would
// act on a part of it. A pipe may split a message anywhere, so the worker gets whole requests from here.

import { AssayError } from '../../core/errors.ts';
import { BAZEL } from './limits.ts';

const MORE = 0x80;
const MAX_HEADER_BYTES = 5;

export async function* frames(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let pending: Buffer[] = [];
  let size = 0;
  for await (const piece of source) {
    pending.push(piece);
    size += piece.length;
    while (size >= neededOf(pending)) {
      const all = Buffer.concat(pending);
      const length = neededOf([all]);
      yield all.subarray(0, length);
      pending = all.length > length ? [all.subarray(length)] : [];
      size -= length;
    }
  }
  if (size > 0) throw new AssayError('ASSAY_BAD_WIRE', 'the stream ended in the middle of a request');
}

/** The bytes needed for the first message; infinite while its header is incomplete. */
function neededOf(pieces: readonly Buffer[]): number {
  let value = 0;
  let at = 0;
  for (const piece of pieces) {
    for (const byte of piece.subarray(0, MAX_HEADER_BYTES - at)) {
      value += (byte & ~MORE) * 2 ** (7 * at++);
      if (byte < MORE) return checked(at + value);
    }
  }
  if (at >= MAX_HEADER_BYTES) throw new AssayError('ASSAY_BAD_WIRE', 'this is not a request of Bazel');
  return Number.POSITIVE_INFINITY;
}

function checked(needed: number): number {
  if (needed <= BAZEL.maxRequestBytes) return needed;
  throw new AssayError('ASSAY_BAD_WIRE', `a request of ${needed} bytes, which is more than Bazel sends`);
}
