// Parses a stream of framed WriteRequests without copying: it passes on the data in the pieces in which it
// arrives. Joining each message first would cost as much as receiving it (docs/decisions/0050).
//
// The name, the offset and finish_write must come before the data, as every protobuf library writes them.

import { WireType } from '@bufbuild/protobuf/wire';
import { AssayError } from '../../../core/errors.ts';
import { PROTOCOL } from '../../limits.ts';

const FRAME_HEAD_BYTES = 5;
const MAX_VARINT_BYTES = 10;

const RESOURCE_NAME = 1;
const WRITE_OFFSET = 2;
const FINISH_WRITE = 3;
const DATA = 10;

export interface WriteRequest {
  readonly resourceName: string;
  readonly offset: number;
  readonly isLast: boolean;
}

/** Called in order: one `request`, then its data in any number of pieces. */
interface WriteSink {
  request(request: WriteRequest): void;
  data(piece: Buffer): void;
}

export class WriteParser {
  readonly #sink: WriteSink;
  readonly #maxMessageBytes: number;
  /** The beginning of an incomplete header or field. Never longer than a field. */
  #held: Buffer = Buffer.alloc(0);
  #messageLeft = 0;
  #dataLeft = 0;
  #fields: { resourceName: string; offset: number; isLast: boolean } | undefined;

  constructor(sink: WriteSink, maxMessageBytes: number) {
    this.#sink = sink;
    this.#maxMessageBytes = maxMessageBytes;
  }

  /** False in the middle of a message. */
  get isBetweenMessages(): boolean {
    return this.#messageLeft === 0 && this.#held.length === 0;
  }

  push(piece: Buffer): void {
    let rest = this.#held.length === 0 ? piece : Buffer.concat([this.#held, piece]);
    while (rest.length > 0) {
      const taken = this.#take(rest);
      if (taken === 0) break;
      rest = rest.subarray(taken);
    }
    this.#held = rest;
  }

  /** The number of bytes parsed. 0 if the next header or field is incomplete. */
  #take(bytes: Buffer): number {
    if (this.#messageLeft === 0) return this.#takeFrameHead(bytes);
    const taken = this.#dataLeft > 0 ? this.#takeData(bytes) : this.#takeField(bytes);
    this.#messageLeft -= taken;
    if (this.#messageLeft === 0) this.#announce();
    return taken;
  }

  #takeFrameHead(bytes: Buffer): number {
    if (bytes.length < FRAME_HEAD_BYTES) return 0;
    if (bytes[0] !== 0)
      throw new AssayError('ASSAY_COMPRESSED_MESSAGE', 'the first byte of its frame is not 0');
    const length = bytes.readUInt32BE(1);
    if (length > this.#maxMessageBytes) {
      throw new AssayError(
        'ASSAY_TOO_LARGE',
        `a message of ${length} bytes; the limit is ${this.#maxMessageBytes}`,
      );
    }
    this.#messageLeft = length;
    this.#fields = { resourceName: '', offset: 0, isLast: false };
    if (length === 0) this.#announce();
    return FRAME_HEAD_BYTES;
  }

  #takeData(bytes: Buffer): number {
    const piece = bytes.subarray(0, this.#dataLeft);
    this.#dataLeft -= piece.length;
    this.#sink.data(piece);
    return piece.length;
  }

  /** Parses one field, or the beginning of the data. */
  #takeField(bytes: Buffer): number {
    const within = bytes.subarray(0, this.#messageLeft);
    const isAllThere = within.length === this.#messageLeft;
    const field = readField(within);
    if (!field || (field.number !== DATA && field.end > within.length)) {
      if (isAllThere || within.length > PROTOCOL.maxWriteFieldBytes) throw malformed();
      return 0;
    }
    if (field.number === DATA && field.wireType === WireType.LengthDelimited) return this.#beginData(field);
    this.#keep(field, within);
    return field.end;
  }

  #beginData({ start, end }: Field): number {
    if (end > this.#messageLeft) throw malformed();
    this.#dataLeft = end - start;
    this.#announce();
    return start;
  }

  #keep({ number, wireType, value, start, end }: Field, bytes: Buffer): void {
    const fields = this.#fields;
    if (!fields) {
      if (number === RESOURCE_NAME || number === WRITE_OFFSET || number === FINISH_WRITE) throw malformed();
    } else if (number === RESOURCE_NAME && wireType === WireType.LengthDelimited) {
      fields.resourceName = bytes.toString('utf8', start, end);
    } else if (number === WRITE_OFFSET && wireType === WireType.Varint) fields.offset = value;
    else if (number === FINISH_WRITE && wireType === WireType.Varint) fields.isLast = value !== 0;
  }

  #announce(): void {
    if (this.#fields) this.#sink.request(this.#fields);
    this.#fields = undefined;
  }
}

interface Field {
  readonly number: number;
  readonly wireType: number;
  /** The value of a varint. */
  readonly value: number;
  /** The beginning of the content of a field with a length. For other fields, the end. */
  readonly start: number;
  readonly end: number;
}

/** Undefined if the tag, the value or the length is incomplete. */
function readField(bytes: Buffer): Field | undefined {
  const tag = readVarint(bytes, 0);
  if (!tag) return undefined;
  const wireType = tag.value & 7;
  const number = Math.floor(tag.value / 8);
  if (number === 0) throw malformed();
  const fixed = (length: number) => ({ number, wireType, value: 0, start: tag.end, end: tag.end + length });
  if (wireType === WireType.Bit64) return fixed(8);
  if (wireType === WireType.Bit32) return fixed(4);
  if (wireType !== WireType.Varint && wireType !== WireType.LengthDelimited) throw malformed();
  const next = readVarint(bytes, tag.end);
  if (!next) return undefined;
  const end = wireType === WireType.Varint ? next.end : next.end + next.value;
  return { number, wireType, value: next.value, start: next.end, end };
}

/** Exact up to 2^53. A larger or negative value becomes larger than any valid offset or length. */
function readVarint(bytes: Buffer, at: number): { readonly value: number; readonly end: number } | undefined {
  let value = 0;
  let scale = 1;
  for (let index = at; index < bytes.length; index++) {
    if (index - at >= MAX_VARINT_BYTES) throw malformed();
    const byte = bytes[index] ?? 0;
    value += (byte & 0x7f) * scale;
    scale *= 128;
    if (byte < 0x80) return { value, end: index + 1 };
  }
  return undefined;
}

function malformed(): AssayError {
  return new AssayError('ASSAY_MESSAGE_MALFORMED', 'not a WriteRequest');
}
