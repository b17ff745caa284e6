// Protobuf messages from outside: read to the last byte, or refused.
//
// The generated decoders stop in silence at a tag of 0 or at the end of a group that never began, so that bytes which
// are no message at all could pass for an empty one. So the outermost fields are walked first, which refuses both.
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { AssayError } from './errors.ts';

interface MessageType<T> {
  decode(bytes: Uint8Array): T;
}

export function decodeWhole<T>(type: MessageType<T>, bytes: Uint8Array, refusal: string): T {
  try {
    walkFields(new BinaryReader(bytes));
    return type.decode(bytes);
  } catch (cause) {
    throw new AssayError('ASSAY_RESULT_MALFORMED', refusal, { cause });
  }
}

function walkFields(reader: BinaryReader): void {
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    reader.skip(wireType, number);
  }
}
