// FastCDC 2020: where a blob is cut into chunks, by its content, so that two versions of it share most of them. Every client
// and server that cuts must find the same places: the constants are those that REAPI prescribes, normalization level 2.
//
// The rolling hash has 64 bits, of which the masks look at the lower 48. They are kept as two numbers of 24 bits, since
// bits never wander downwards and JavaScript counts exactly in 32.
import { nodeCrypto } from './sha256.ts';

export interface ChunkingParams {
  readonly minBytes: number;
  readonly averageBytes: number;
  readonly maxBytes: number;
  /** Before the average size: fewer places fit. */
  readonly strict: Mask;
  /** Behind it: more do. */
  readonly lenient: Mask;
}

interface Mask {
  readonly high: number;
  readonly low: number;
}

const HALF_BITS = 24;
const HALF = 0xffffff;
const GEAR_INPUT_BYTES = 64;

/** The masks for an average of 2^19 bytes: those for 2^21 before it, and for 2^17 behind it. */
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

/** How many bytes from the start are the first chunk; `bytes` must be maxBytes long, or be all that is left. */
export function firstChunkLength(bytes: Uint8Array, cutting: ChunkingParams): number {
  const end = Math.min(bytes.length, cutting.maxBytes);
  if (end <= cutting.minBytes) return end;
  const center = Math.min(end, cutting.averageBytes);
  gear ??= makeGear();
  const { high: highs, low: lows } = gear;
  let high = 0;
  let low = 0;
  /** The reference takes two bytes at a time, and leaves out the last one of an odd number. */
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

/** For each value of a byte the beginning of the MD5 of that byte, 64 times; the lower 48 bits of its first 64. */
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
