// FNV-1a, 32 bits: tells a torn or flipped file of the client's own from a whole one. It is no address and proves
// nothing about content; it needs no module to be loaded and is quick even before the engine has warmed up.
export function checksum(bytes: Uint8Array): number {
  let sum = 0x811c9dc5;
  for (let at = 0; at < bytes.length; at++) sum = Math.imul(sum ^ (bytes[at] ?? 0), 0x01000193);
  return sum >>> 0;
}
