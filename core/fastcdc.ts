// FastCDC 2020: content-defined chunking, so that two versions of a blob share most of their chunks.
// It cuts where every REAPI client and server cuts: the constants are REAPI's, with normalization level 2.
//
// The rolling hash has 64 bits, and the masks use the lower 48. They are kept as two numbers of 24 bits: a
// left shift never moves bits down, and JavaScript's bit operations have 32 bits.
import { nodeCrypto } from './sha256.ts';

export interface ChunkingParams {
  readonly minBytes: number;
  readonly averageBytes: number;
  readonly maxBytes: number;
  /** The mask before the average size, with more bits: a cut is less likely. */
  readonly strict: Mask;
  /** The mask after the average size, with fewer bits: a cut is more likely. */
  readonly lenient: Mask;
}

interface Mask {
  readonly high: number;
  readonly low: number;
}

const HALF_BITS = 24;
const HALF = 0xffffff;
const GEAR_INPUT_BYTES = 64;

/** The parameters for an average of 2^19 bytes. The masks are those of 2^21 (strict) and 2^17 (lenient). */
export const REAPI_CHUNKING: ChunkingParams = {
  minBytes: 128 * 1024,
  averageBytes: 512 * 1024,
  maxBytes: 2 * 1024 * 1024,
  strict: { high: 0x00d91767, low: 0x537000 },
  lenient: { high: 0x00d90703, low: 0x537000 },
};

interface Gear {
  readonly high: Int32Array;
  readonly low: Int32Array;
}

let gear: Gear | undefined;

/** The length of the first chunk. `bytes` must have at least maxBytes bytes, or be the rest of the blob. */
export function firstChunkLength(bytes: Uint8Array, cutting: ChunkingParams): number {
  const end = Math.min(bytes.length, cutting.maxBytes);
  if (end <= cutting.minBytes) return end;
  const center = Math.min(end, cutting.averageBytes);
  gear ??= makeGear();
  const { high: highs, low: lows } = gear;
  let high = 0;
  let low = 0;
  /** The reference implementation reads two bytes at a time, and skips the last one of an odd number. */
  for (let at = cutting.minBytes; at < end - (end % 2); at++) {
    const byte = bytes[at] ?? 0;
    low = low * 2 + (lows[byte] ?? 0);
    high = (high * 2 + (highs[byte] ?? 0) + (low >>> HALF_BITS)) & HALF;
    low &= HALF;
    const mask = at < center ? cutting.strict : cutting.lenient;
    if ((high & mask.high) === 0 && (low & mask.low) === 0) return at;
  }
  return end;
}

/** For each byte value: the lower 48 of the first 64 bits of the MD5 of 64 such bytes. */
function makeGear(): Gear {
  const high = new Int32Array(256);
  const low = new Int32Array(256);
  for (let byte = 0; byte < 256; byte++) {
    const digest = nodeCrypto().createHash('md5').update(Buffer.alloc(GEAR_INPUT_BYTES, byte)).digest();
    high[byte] = digest.readUIntBE(2, 3);
    low[byte] = digest.readUIntBE(5, 3);
  }
  return { high, low };
}
