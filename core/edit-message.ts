// Changes of single fields in an encoded message. Every other byte stays as it was sent, so that what this program does not
// know survives it.
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

/** A field that holds bytes, text or a message. */
export function encodeField(field: number, content: Uint8Array): Uint8Array {
  return new BinaryWriter().tag(field, WireType.LengthDelimited).bytes(content).finish();
}

/** The message with another content for those fields of that number for which `amend` gives one, in their places. */
export function replaceFields(
  message: Uint8Array,
  field: number,
  amend: (content: Uint8Array, index: number) => Uint8Array | undefined,
): Buffer {
  const parts: Uint8Array[] = [];
  const reader = new BinaryReader(message);
  let kept = 0;
  let index = 0;
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const [number, wireType] = reader.tag();
    if (number !== field || wireType !== WireType.LengthDelimited) {
      reader.skip(wireType, number);
      continue;
    }
    const amended = amend(reader.bytes(), index++);
    if (!amended) continue;
    parts.push(message.subarray(kept, start), encodeField(field, amended));
    kept = reader.pos;
  }
  return Buffer.concat([...parts, message.subarray(kept)]);
}
