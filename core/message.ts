// Strict decoding of protobuf messages from outside. A message that is cut short, repeats a singular field or
// has too many fields is refused before it costs memory.
//
// The generated decoders are too lenient. They stop silently at a tag of 0, at any depth. They build an
// object for every two bytes that ask for one. Of a repeated singular field they keep the last. So
// decodeStrict first walks all fields, which allocates nothing, and decodes only then.
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { AssayError, type ErrorCode } from './errors.ts';
import { MESSAGE } from './limits.ts';

interface MessageType<T> {
  decode(bytes: Uint8Array): T;
}

/** Which fields of a message are messages themselves: singular ones (`once`) and repeated ones (`many`). */
export interface Shape {
  readonly once?: Readonly<Record<number, Shape>>;
  readonly many?: Readonly<Record<number, Shape>>;
}

export function decodeStrict<T>(
  type: MessageType<T>,
  shape: Shape,
  bytes: Uint8Array,
  detail: string,
  code: ErrorCode = 'ASSAY_RESULT_MALFORMED',
): T {
  try {
    walk(new BinaryReader(bytes), bytes.length, shape, { fieldsLeft: MESSAGE.maxFields });
    return type.decode(bytes);
  } catch (cause) {
    throw new AssayError(code, detail, { cause });
  }
}

/** The bytes of each message in a repeated field, as sent. */
export function rawMessages(bytes: Uint8Array, field: number): Uint8Array[] {
  const found: Uint8Array[] = [];
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    if (number === field && wireType === WireType.LengthDelimited) found.push(reader.bytes());
    else reader.skip(wireType, number);
  }
  return found;
}

/** How many fields the rest of a message may have. */
export interface FieldBudget {
  fieldsLeft: number;
}

/**
 * Walks nested messages with one reader, which knows only the end of the whole buffer. So each level checks
 * that it has not read beyond its own end. Throws where decodeStrict refuses a message.
 */
export function walk(
  reader: BinaryReader,
  end: number,
  { once = {}, many = {} }: Shape,
  budget: FieldBudget,
): void {
  let seen: Set<number> | undefined;
  while (reader.pos < end) {
    if (--budget.fieldsLeft < 0) throw new Error('more fields than a message may have');
    const [number, wireType] = reader.tag();
    const inner = once[number] ?? many[number];
    if (inner && wireType === WireType.LengthDelimited) {
      if (once[number]) {
        if (seen?.has(number)) throw new Error(`field ${number} is there twice`);
        seen = (seen ?? new Set()).add(number);
      }
      const length = reader.uint32();
      const innerEnd = reader.pos + length;
      if (innerEnd > end) throw new Error('a message is cut short');
      walk(reader, innerEnd, inner, budget);
    } else reader.skip(wireType, number);
    if (reader.pos > end) throw new Error('a field is cut short');
  }
}
