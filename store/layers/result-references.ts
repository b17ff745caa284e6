// Reads what a result names in one pass, without decoding the rest: a build puts one result for each action, and
// decoding it, with the text of each path and hash, costs a tenth of the put.
//
// Guarantee: it returns what decoding would find, or undefined. Undefined says nothing about the result: it may be
// malformed, or only unusual. Then it must be decoded.
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import {
  BinaryDigest,
  type Digest,
  HASH_BYTES,
  readUsualDigest,
  USUAL_SIZE_TAG_AT,
} from '../../core/digest.ts';
import { MESSAGE } from '../../core/limits.ts';
import { type FieldBudget, walk } from '../../core/message.ts';
import { ExecutedActionMetadata } from '../../core/proto/generated/reapi.ts';
import { METADATA } from '../../core/proto/shapes.ts';

/** The tags of ActionResult that results without folders and links have. */
const OUTPUT_FILE = (2 << 3) | WireType.LengthDelimited;
const EXIT_CODE = (4 << 3) | WireType.Varint;
const STDOUT_RAW = (5 << 3) | WireType.LengthDelimited;
const STDOUT_DIGEST = (6 << 3) | WireType.LengthDelimited;
const STDERR_RAW = (7 << 3) | WireType.LengthDelimited;
const STDERR_DIGEST = (8 << 3) | WireType.LengthDelimited;
const EXECUTION_METADATA = (9 << 3) | WireType.LengthDelimited;

/** The tags of OutputFile. */
const PATH = (1 << 3) | WireType.LengthDelimited;
const DIGEST = (2 << 3) | WireType.LengthDelimited;
const IS_EXECUTABLE = (4 << 3) | WireType.Varint;

/** Each blob once, in the order of the result. Only for results without folders, links and inlined content. */
export function readFileReferences(bytes: Uint8Array): readonly Digest[] | undefined {
  try {
    return new ReferenceReader(bytes).read();
  } catch {
    return undefined;
  }
}

class ReferenceReader {
  readonly #bytes: Uint8Array;
  readonly #reader: BinaryReader;
  readonly #budget: FieldBudget = { fieldsLeft: MESSAGE.maxFields };
  readonly #keys: Buffer;
  readonly #digests: Digest[] = [];
  /** The first bytes of each hash. Two equal ones may be one blob twice. */
  readonly #seen = new Set<number>();

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#reader = new BinaryReader(bytes);
    this.#keys = Buffer.allocUnsafe(Math.floor(bytes.length / USUAL_SIZE_TAG_AT) * HASH_BYTES);
  }

  read(): readonly Digest[] | undefined {
    const reader = this.#reader;
    const singular = new Set<number>();
    while (reader.pos < reader.len) {
      const tag = this.#tag();
      if (tag === OUTPUT_FILE) {
        if (!this.#readFile(this.#end(reader.len))) return undefined;
      } else if (tag === STDOUT_DIGEST || tag === STDERR_DIGEST || tag === EXECUTION_METADATA) {
        if (singular.has(tag)) return undefined;
        singular.add(tag);
        const end = this.#end(reader.len);
        if (tag === EXECUTION_METADATA) this.#checkMetadata(end);
        else if (!this.#readDigest(end)) return undefined;
      } else if (tag === EXIT_CODE) reader.int32();
      else if (tag === STDOUT_RAW || tag === STDERR_RAW) reader.skip(WireType.LengthDelimited);
      else return undefined;
    }
    return reader.pos === reader.len ? this.#digests : undefined;
  }

  /** As decodeStrict does. */
  #checkMetadata(end: number): void {
    const start = this.#reader.pos;
    walk(this.#reader, end, METADATA, this.#budget);
    ExecutedActionMetadata.decode(this.#bytes.subarray(start, end));
  }

  /** False without exactly one digest. */
  #readFile(end: number): boolean {
    const reader = this.#reader;
    let digests = 0;
    while (reader.pos < end) {
      const tag = this.#tag();
      if (tag === DIGEST) {
        digests++;
        if (!this.#readDigest(this.#end(end))) return false;
      } else if (tag === PATH) reader.skip(WireType.LengthDelimited);
      else if (tag === IS_EXECUTABLE) reader.bool();
      else return false;
    }
    return reader.pos === end && digests === 1;
  }

  #readDigest(end: number): boolean {
    const keyAt = this.#digests.length * HASH_BYTES;
    const size = readUsualDigest(this.#bytes, this.#reader.pos, end, this.#keys, keyAt);
    if (size === undefined) return false;
    this.#reader.pos = end;
    this.#digests.push(new BinaryDigest(this.#keys, keyAt, size));
    return this.#seen.size < this.#seen.add(this.#keys.readUIntLE(keyAt, 6)).size;
  }

  #tag(): number {
    if (--this.#budget.fieldsLeft < 0) throw new Error('more fields than a message may have');
    return this.#reader.uint32();
  }

  /** The end of the message whose length comes next. */
  #end(outerEnd: number): number {
    const length = this.#reader.uint32();
    const end = this.#reader.pos + length;
    if (end > outerEnd) throw new Error('a message is cut short');
    return end;
  }
}
