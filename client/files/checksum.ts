// FNV-1a over 32-bit words: detects a torn or damaged file in the client folder.
// A change of a single word always changes the checksum, because each step is invertible. It is not a content
// address.
//
// It loads no module and is fast before the JIT has warmed up. For that the words are signed, which keeps
// them small integers in the interpreter, and the loop reads no property.
const OFFSET_BASIS = 0x811c9dc5;
const PRIME = 0x01000193;

export function checksum(bytes: Uint8Array): number {
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : new Uint8Array(bytes);
  const words = new Int32Array(aligned.buffer, aligned.byteOffset, aligned.length >>> 2);
  const { length } = words;
  const { imul } = Math;
  let sum = OFFSET_BASIS;
  for (let at = 0; at < length; at++) sum = imul(sum ^ (words[at] ?? 0), PRIME);
  for (let at = length * 4; at < bytes.length; at++) sum = imul(sum ^ (bytes[at] ?? 0), PRIME);
  return sum >>> 0;
}
