// Decodes a FindMissingBlobsRequest strictly, in one pass. Builds ask for thousands of blobs at a time, and
// three passes (walk, decode, check) cost more than finding the blobs (docs/decisions/0050).
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { type Digest, HASH_BYTES } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { MESSAGE } from '../../../core/limits.ts';
import { mostDigestsIn, readDigest, readShortVarint } from './wire-digest.ts';

interface DigestList {
  readonly instanceName: string;
  readonly digests: readonly Digest[];
  readonly digestFunction: number;
}

/** A tag is a field number and a wire type. */
const INSTANCE_NAME = (1 << 3) | WireType.LengthDelimited;
const DIGEST = (2 << 3) | WireType.LengthDelimited;
const DIGEST_FUNCTION = (3 << 3) | WireType.Varint;

export function readDigestList(message: Buffer): DigestList {
  try {
    return read(message);
  } catch (error) {
    if (error instanceof AssayError) throw error;
    throw new AssayError('ASSAY_MESSAGE_MALFORMED', 'not a FindMissingBlobsRequest', { cause: error });
  }
}

function read(message: Buffer): DigestList {
  const reader = new BinaryReader(message);
  const digests: Digest[] = [];
  const keys = Buffer.allocUnsafe(mostDigestsIn(message) * HASH_BYTES);
  let instanceName = '';
  let digestFunction = 0;
  while (reader.pos < reader.len) {
    const tag = readShortVarint(message, reader);
    if (tag === DIGEST) digests.push(readDigest(message, reader, keys, digests.length * HASH_BYTES));
    else if (tag === INSTANCE_NAME) instanceName = reader.string();
    else if (tag === DIGEST_FUNCTION) digestFunction = reader.int32();
    else if (tag >>> 3 === 0) throw new Error('a field without a number');
    else reader.skip(tag & 7, tag >>> 3);
    if (digests.length > MESSAGE.maxFields) throw new Error('more digests than a message may have');
  }
  return { instanceName, digests, digestFunction };
}
