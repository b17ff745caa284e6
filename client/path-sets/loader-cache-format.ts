// Reads the cache of glibc's dynamic loader: the newer format (glibc-ld.so.cache1.1), alone or behind the
// older one. Every offset is checked. Anything else is malformed, also a cache with the older format alone or
// of another byte order.
//
//   file    = [old: "ld.so-1.7.0" NUL  count:u32  12 bytes × count  padding]  new  strings  extensions
//   new     = "glibc-ld.so.cache1.1"  count:u32  string bytes:u32  flags:u8 0:u24  extension offset:u32  0:u32×3  entry × count
//   entry   = flags:u32  name:u32  path:u32  0:u32  features:u64        name and path: offsets from the start of "new"
//   extensions = 0xeaa42174:u32  count:u32  (tag:u32 flags:u32 offset:u32 size:u32) × count    tag 1: names of CPU features
import { nameFromBytes } from '../../core/path.ts';

export interface LoaderEntry {
  readonly name: string;
  readonly flags: number;
  /** The CPU features that the file needs: a name as "x86-64-v3", or bits as a number. "" for none. */
  readonly features: string;
  readonly path: string;
}

const OLD = Buffer.from('ld.so-1.7.0\0');
const OLD_HEADER_BYTES = 16;
const OLD_ENTRY_BYTES = 12;
const NEW = Buffer.from('glibc-ld.so.cache1.1');
const HEADER_BYTES = 48;
const ENTRY_BYTES = 24;
const EXTENSIONS = 0xeaa42174;
const SECTION_BYTES = 16;
const FEATURE_NAMES = 1;
const LITTLE_ENDIAN = 2;
/** This bit says that the features are named: the lower half is the number of a name. */
const NAMED = 1n << 62n;

class Malformed extends Error {}

/** In the order of the file. Undefined if it is malformed. */
export function loaderEntries(bytes: Buffer): LoaderEntry[] | undefined {
  try {
    return new Reader(bytes).entries();
  } catch (error) {
    if (error instanceof Malformed || error instanceof RangeError) return undefined;
    throw error;
  }
}

class Reader {
  readonly #bytes: Buffer;
  readonly #start: number;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#start = startOfNew(bytes);
  }

  entries(): LoaderEntry[] {
    const bytes = this.#bytes;
    const at = this.#start;
    const count = bytes.readUInt32LE(at + NEW.length);
    const flags = bytes.readUInt8(at + NEW.length + 8);
    // Older versions of glibc leave the byte order out.
    if (flags !== 0 && flags !== LITTLE_ENDIAN) throw new Malformed();
    if (count > (bytes.length - at) / ENTRY_BYTES) throw new Malformed();
    const names = this.#featureNames(bytes.readUInt32LE(at + NEW.length + 12));
    return Array.from({ length: count }, (_, number) =>
      this.#entry(at + HEADER_BYTES + number * ENTRY_BYTES, names),
    );
  }

  #entry(at: number, names: readonly string[]): LoaderEntry {
    const bytes = this.#bytes;
    return {
      name: this.#text(this.#start + bytes.readUInt32LE(at + 4)),
      flags: bytes.readUInt32LE(at),
      features: featuresOf(bytes.readBigUInt64LE(at + 16), names),
      path: this.#text(this.#start + bytes.readUInt32LE(at + 8)),
    };
  }

  #featureNames(offset: number): string[] {
    if (offset === 0) return [];
    const bytes = this.#bytes;
    if (bytes.readUInt32LE(offset) !== EXTENSIONS) throw new Malformed();
    const count = bytes.readUInt32LE(offset + 4);
    for (let at = offset + 8; at < offset + 8 + count * SECTION_BYTES; at += SECTION_BYTES) {
      if (bytes.readUInt32LE(at) !== FEATURE_NAMES) continue;
      const [from, size] = [bytes.readUInt32LE(at + 8), bytes.readUInt32LE(at + 12)];
      if (from + size > bytes.length) throw new Malformed();
      return Array.from({ length: size / 4 }, (_, number) =>
        this.#text(bytes.readUInt32LE(from + number * 4)),
      );
    }
    return [];
  }

  #text(from: number): string {
    const end = this.#bytes.indexOf(0, from);
    if (from >= this.#bytes.length || end < 0) throw new Malformed();
    return nameFromBytes(this.#bytes.subarray(from, end));
  }
}

function featuresOf(bits: bigint, names: readonly string[]): string {
  if (bits === 0n) return '';
  if ((bits & NAMED) === 0n) return String(bits);
  const name = names[Number(bits & 0xffffffffn)];
  if (name === undefined) throw new Malformed();
  return name;
}

/** The newer part is aligned to 8 bytes, on some 32-bit systems to 4. */
function startOfNew(bytes: Buffer): number {
  if (isAt(bytes, NEW, 0)) return 0;
  if (!isAt(bytes, OLD, 0)) throw new Malformed();
  const end = OLD_HEADER_BYTES + bytes.readUInt32LE(OLD.length) * OLD_ENTRY_BYTES;
  for (const alignment of [8, 4]) {
    const start = Math.ceil(end / alignment) * alignment;
    if (isAt(bytes, NEW, start)) return start;
  }
  throw new Malformed();
}

function isAt(bytes: Buffer, magic: Buffer, at: number): boolean {
  return bytes.subarray(at, at + magic.length).equals(magic);
}
