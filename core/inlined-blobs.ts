// What comes along with a result: small blobs that it names, so that a client does not have to ask for each of them, one round
// trip after the other. A client says in a header how many bytes of them it will take. They follow the result as fields that no
// ActionResult has, each a hash and the bytes: whoever does not know them passes over them, and nothing else in the answer has
// to reach the client for it to know where the result ends.
//
// Nothing here is believed: a blob that came along is checked like one that was asked for.
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { type Hash, parseHash } from './digest.ts';

export const INLINED_BLOBS_HEADER = 'assay-company';

const FIELD = 15_001;
const HASH_BYTES = 32;
/** What one takes besides its own bytes, at most. */
export const INLINED_BLOB_OVERHEAD = HASH_BYTES + 8;

export interface InlinedBlob {
  readonly hash: Hash;
  readonly bytes: Buffer;
}

export interface ResultWithBlobs {
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
 * Blobs of more than `most` bytes was not asked for, and is left out. What is no message at all counts as a result, of which
 * somebody else will say so.
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
