// Decodes a GetActionResultRequest strictly, in one pass: a build sends one for each of its actions.
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { type Digest, HASH_BYTES } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { MESSAGE } from '../../../core/limits.ts';
import { readDigest, readShortVarint } from './wire-digest.ts';

export interface ResultQuery {
  readonly instanceName: string;
  readonly action: Digest;
  readonly digestFunction: number;
  readonly inlineStdout: boolean;
  readonly inlineStderr: boolean;
  readonly inlineOutputFiles: readonly string[];
}

/** A tag is a field number and a wire type. */
const INSTANCE_NAME = (1 << 3) | WireType.LengthDelimited;
const ACTION_DIGEST = (2 << 3) | WireType.LengthDelimited;
const INLINE_STDOUT = (3 << 3) | WireType.Varint;
const INLINE_STDERR = (4 << 3) | WireType.Varint;
const INLINE_OUTPUT_FILES = (5 << 3) | WireType.LengthDelimited;
const DIGEST_FUNCTION = (6 << 3) | WireType.Varint;

export function readResultQuery(message: Buffer): ResultQuery {
  try {
    return read(message);
  } catch (error) {
    if (error instanceof AssayError) throw error;
    throw new AssayError('ASSAY_MESSAGE_MALFORMED', 'not a GetActionResultRequest', { cause: error });
  }
}

function read(message: Buffer): ResultQuery {
  const reader = new BinaryReader(message);
  const inlineOutputFiles: string[] = [];
  let action: Digest | undefined;
  let instanceName = '';
  let digestFunction = 0;
  let inlineStdout = false;
  let inlineStderr = false;
  for (let fields = 0; reader.pos < reader.len; fields++) {
    if (fields === MESSAGE.maxFields) throw new Error('more fields than a message may have');
    const tag = readShortVarint(message, reader);
    if (tag === ACTION_DIGEST) {
      if (action) throw new Error('there are two digests');
      action = readDigest(message, reader, Buffer.allocUnsafe(HASH_BYTES), 0);
    } else if (tag === INSTANCE_NAME) instanceName = reader.string();
    else if (tag === INLINE_STDOUT) inlineStdout = reader.bool();
    else if (tag === INLINE_STDERR) inlineStderr = reader.bool();
    else if (tag === INLINE_OUTPUT_FILES) inlineOutputFiles.push(reader.string());
    else if (tag === DIGEST_FUNCTION) digestFunction = reader.int32();
    else if (tag >>> 3 === 0) throw new Error('a field without a number');
    else reader.skip(tag & 7, tag >>> 3);
  }
  if (!action) throw new AssayError('ASSAY_BAD_DIGEST', 'the request has no digest');
  return { instanceName, action, digestFunction, inlineStdout, inlineStderr, inlineOutputFiles };
}
