// Decodes the requests of the ActionCache strictly, in one pass: a build sends one or two for each of its actions.
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { type Digest, HASH_BYTES } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { MESSAGE } from '../../../core/limits.ts';
import { readDigest, readShortVarint } from './wire-digest.ts';

interface AboutAction {
  readonly instanceName: string;
  readonly action: Digest;
  readonly digestFunction: number;
}

export interface ResultQuery extends AboutAction {
  readonly inlineStdout: boolean;
  readonly inlineStderr: boolean;
  readonly inlineOutputFiles: readonly string[];
}

interface ResultUpdate extends AboutAction {
  /** As it was sent. The store decodes it. */
  readonly result: Uint8Array;
}

/** A tag is a field number and a wire type. The first two are the same in both requests. */
const INSTANCE_NAME = (1 << 3) | WireType.LengthDelimited;
const ACTION_DIGEST = (2 << 3) | WireType.LengthDelimited;
/** Of GetActionResultRequest. */
const INLINE_STDOUT = (3 << 3) | WireType.Varint;
const INLINE_STDERR = (4 << 3) | WireType.Varint;
const INLINE_OUTPUT_FILES = (5 << 3) | WireType.LengthDelimited;
const QUERY_DIGEST_FUNCTION = (6 << 3) | WireType.Varint;
/** Of UpdateActionResultRequest. */
const ACTION_RESULT = (3 << 3) | WireType.LengthDelimited;
const UPDATE_DIGEST_FUNCTION = (5 << 3) | WireType.Varint;

export function readResultQuery(message: Buffer): ResultQuery {
  const inlineOutputFiles: string[] = [];
  let inlineStdout = false;
  let inlineStderr = false;
  const about = readFields('GetActionResultRequest', message, QUERY_DIGEST_FUNCTION, (tag, reader) => {
    if (tag === INLINE_STDOUT) inlineStdout = reader.bool();
    else if (tag === INLINE_STDERR) inlineStderr = reader.bool();
    else if (tag === INLINE_OUTPUT_FILES) inlineOutputFiles.push(reader.string());
    else return false;
    return true;
  });
  return { ...about, inlineStdout, inlineStderr, inlineOutputFiles };
}

export function readResultUpdate(message: Buffer): ResultUpdate {
  let result: Uint8Array | undefined;
  const about = readFields('UpdateActionResultRequest', message, UPDATE_DIGEST_FUNCTION, (tag, reader) => {
    if (tag !== ACTION_RESULT) return false;
    if (result) throw new Error('there are two results');
    result = reader.bytes();
    return true;
  });
  if (!result) throw new AssayError('ASSAY_MESSAGE_MALFORMED', 'the request has no result');
  return { ...about, result };
}

/** `readOther` reads the value of a field that only this request has, or returns false. */
function readFields(
  name: string,
  message: Buffer,
  digestFunctionTag: number,
  readOther: (tag: number, reader: BinaryReader) => boolean,
): AboutAction {
  let action: Digest | undefined;
  let instanceName = '';
  let digestFunction = 0;
  try {
    const reader = new BinaryReader(message);
    for (let fields = 0; reader.pos < reader.len; fields++) {
      if (fields === MESSAGE.maxFields) throw new Error('more fields than a message may have');
      const tag = readShortVarint(message, reader);
      if (tag === ACTION_DIGEST) {
        if (action) throw new Error('there are two digests');
        action = readDigest(message, reader, Buffer.allocUnsafe(HASH_BYTES), 0);
      } else if (tag === INSTANCE_NAME) instanceName = reader.string();
      else if (tag === digestFunctionTag) digestFunction = reader.int32();
      else if (tag >>> 3 === 0) throw new Error('a field without a number');
      else if (!readOther(tag, reader)) reader.skip(tag & 7, tag >>> 3);
    }
  } catch (error) {
    if (error instanceof AssayError) throw error;
    throw new AssayError('ASSAY_MESSAGE_MALFORMED', `not a ${name}`, { cause: error });
  }
  if (!action) throw new AssayError('ASSAY_BAD_DIGEST', 'the request has no digest');
  return { instanceName, action, digestFunction };
}
