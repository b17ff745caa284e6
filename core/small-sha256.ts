// SHA-256 in plain JavaScript (FIPS 180-4), for the first few kilobytes of a process: see sha256.ts for when and why.

const INITIAL = new Int32Array([
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
]);

const ROUND_CONSTANTS = new Int32Array([
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98,
  0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
  0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8,
  0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
  0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819,
  0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
  0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
  0xc67178f2,
]);

const BLOCK_BYTES = 64;
const LENGTH_BYTES = 8;

/** In lower-case hex. */
export function smallSha256(message: Uint8Array): string {
  const blocks = new DataView(pad(message));
  const state = new DataView(new ArrayBuffer(32));
  for (let word = 0; word < 8; word++) state.setInt32(word * 4, INITIAL[word] ?? 0);
  for (let at = 0; at < blocks.byteLength; at += BLOCK_BYTES) compress(state, scheduleOf(blocks, at));
  return Buffer.from(state.buffer).toString('hex');
}

/** The message, a 1 bit, zeros, and its length in bits, in whole blocks. */
function pad(message: Uint8Array): ArrayBuffer {
  const count = Math.ceil((message.length + 1 + LENGTH_BYTES) / BLOCK_BYTES);
  const padded = new Uint8Array(count * BLOCK_BYTES);
  padded.set(message);
  padded[message.length] = 0x80;
  new DataView(padded.buffer).setBigUint64(padded.length - LENGTH_BYTES, BigInt(message.length) * 8n);
  return padded.buffer;
}

// The two loops below run cold, in the interpreter, where a call costs as much as the arithmetic: so the rotations are
// written out.

function scheduleOf(blocks: DataView, at: number): Int32Array {
  const schedule = new Int32Array(64);
  for (let round = 0; round < 16; round++) schedule[round] = blocks.getInt32(at + round * 4);
  for (let round = 16; round < 64; round++) {
    const x = schedule[round - 15] ?? 0;
    const y = schedule[round - 2] ?? 0;
    const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
    const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
    schedule[round] = (schedule[round - 16] ?? 0) + s0 + (schedule[round - 7] ?? 0) + s1;
  }
  return schedule;
}

function compress(state: DataView, schedule: Int32Array): void {
  let a = state.getInt32(0);
  let b = state.getInt32(4);
  let c = state.getInt32(8);
  let d = state.getInt32(12);
  let e = state.getInt32(16);
  let f = state.getInt32(20);
  let g = state.getInt32(24);
  let h = state.getInt32(28);
  for (let round = 0; round < 64; round++) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const choice = g ^ (e & (f ^ g));
    const first = (h + s1 + choice + (ROUND_CONSTANTS[round] ?? 0) + (schedule[round] ?? 0)) | 0;
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const majority = (a & b) | (c & (a | b));
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + s0 + majority) | 0;
  }
  state.setInt32(0, state.getInt32(0) + a);
  state.setInt32(4, state.getInt32(4) + b);
  state.setInt32(8, state.getInt32(8) + c);
  state.setInt32(12, state.getInt32(12) + d);
  state.setInt32(16, state.getInt32(16) + e);
  state.setInt32(20, state.getInt32(20) + f);
  state.setInt32(24, state.getInt32(24) + g);
  state.setInt32(28, state.getInt32(28) + h);
}
