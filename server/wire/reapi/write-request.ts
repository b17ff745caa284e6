// A WriteRequest read in place: its data is a view of the message, because copying every byte of an upload once more would
// cost as much as receiving it.
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { AssayError } from '../../../core/errors.ts';

export interface WriteRequest {
  readonly resourceName: string;
  readonly offset: number;
  readonly isLast: boolean;
  readonly data: Uint8Array;
}

/** Field numbers with their wire types, as they stand in a tag. */
const RESOURCE_NAME = (1 << 3) | WireType.LengthDelimited;
const WRITE_OFFSET = (2 << 3) | WireType.Varint;
const FINISH_WRITE = (3 << 3) | WireType.Varint;
const DATA = (10 << 3) | WireType.LengthDelimited;

const NOTHING = new Uint8Array(0);

export function readWriteRequest(message: Uint8Array): WriteRequest {
  try {
    return decode(new BinaryReader(message));
  } catch (cause) {
    throw new AssayError('ASSAY_MESSAGE_MALFORMED', 'not a WriteRequest', { cause });
  }
}

function decode(reader: BinaryReader): WriteRequest {
  let resourceName = '';
  let offset = 0;
  let isLast = false;
  let data: Uint8Array = NOTHING;
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag === DATA) data = reader.bytes();
    else if (tag === WRITE_OFFSET) offset = Number(reader.int64());
    else if (tag === FINISH_WRITE) isLast = reader.bool();
    else if (tag === RESOURCE_NAME) resourceName = reader.string();
    else if (tag >>> 3 === 0) throw new Error('a field without a number');
    else reader.skip(tag & 7, tag >>> 3);
  }
  return { resourceName, offset, isLast, data };
}
