// Inlined blobs: small blobs that the server sends together with the result that names them.
// They are untrusted: the client verifies an inlined blob like any other.
//
// They save a round trip for each blob. The client says in a header how many bytes it accepts. Each blob
// follows the result as a protobuf field that ActionResult does not have, with the hash and the bytes. A
// client that does not know the field skips it. The field's tag also marks the end of the result.
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { type Hash, parseHash } from './digest.ts';

export const INLINED_BLOBS_HEADER = 'assay-company';

const FIELD = 15_001;
const HASH_BYTES = 32;
/** The most that one inlined blob takes besides its own bytes. */
export const INLINED_BLOB_OVERHEAD = HASH_BYTES + 8;

export interface InlinedBlob {
  readonly hash: Hash;
  readonly bytes: Buffer;
}

interface ResultWithBlobs {
  readonly result: Buffer;
  readonly blobs: readonly InlinedBlob[];
}

export function appendBlobs({ result, blobs }: ResultWithBlobs): Buffer {
  if (blobs.length === 0) return result;
  const writer = new BinaryWriter();
  for (const { hash, bytes } of blobs) {
    writer.tag(FIELD, WireType.LengthDelimited).bytes(Buffer.concat([Buffer.from(hash, 'hex'), bytes]));
  }
  return Buffer.concat([result, writer.finish()]);
}

/**
 * Splits an answer into the result and its inlined blobs. Blobs beyond `most` bytes were not asked for, and
 * are dropped. An answer that is not a message is returned as the result: decoding the result then fails.
 */
export function splitBlobs(answer: Buffer, most = Number.POSITIVE_INFINITY): ResultWithBlobs {
  try {
    return split(answer, most);
  } catch {
    return { result: answer, blobs: [] };
  }
}

function split(answer: Buffer, most: number): ResultWithBlobs {
  const reader = new BinaryReader(answer);
  const blobs: InlinedBlob[] = [];
  let end = answer.length;
  let room = most;
  while (reader.pos < reader.len) {
    const begin = reader.pos;
    const [field, type] = reader.tag();
    if (field !== FIELD || type !== WireType.LengthDelimited) {
      reader.skip(type, field);
      continue;
    }
    end = Math.min(end, begin);
    const inlinedBlob = reader.bytes();
    room -= INLINED_BLOB_OVERHEAD - HASH_BYTES + inlinedBlob.length;
    if (room >= 0) blobs.push(parseInlinedBlob(inlinedBlob));
  }
  return { result: answer.subarray(0, end), blobs };
}

function parseInlinedBlob(field: Uint8Array): InlinedBlob {
  const whole = Buffer.from(field.buffer, field.byteOffset, field.length);
  const hash = parseHash(whole.toString('hex', 0, HASH_BYTES));
  return { hash, bytes: whole.subarray(HASH_BYTES) };
}
