// Edits single fields of an encoded protobuf message.
// Every other byte stays as sent, so that fields that Assay does not know survive.
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

/** Encodes a field of bytes, text or a message. */
export function encodeField(field: number, content: Uint8Array): Uint8Array {
  return new BinaryWriter().tag(field, WireType.LengthDelimited).bytes(content).finish();
}

/** Replaces, in place, the content of each field with that number for which `replace` returns a value. */
export function replaceFields(
  message: Uint8Array,
  field: number,
  replace: (content: Uint8Array, index: number) => Uint8Array | undefined,
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
    const replacement = replace(reader.bytes(), index++);
    if (!replacement) continue;
    parts.push(message.subarray(kept, start), encodeField(field, replacement));
    kept = reader.pos;
  }
  return Buffer.concat([...parts, message.subarray(kept)]);
}
