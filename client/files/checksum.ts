// FNV-1a over words of 32 bits: tells a torn or flipped file of the client's own from a whole one. It is no address and
// proves nothing about content; it needs no module to be loaded and is quick even before the engine has warmed up, for which
// the words are signed (others are no integers to an interpreter) and nothing is looked up in the loop. Each step can be
// undone, so a change of one word always shows.
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
