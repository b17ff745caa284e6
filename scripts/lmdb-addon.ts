// lmdb's addon as Assay ships it: without the one place that can take the process down when a write fails.
//
// Its C code tells of a failed write with sprintf into 100 bytes, among them two numbers that were never set: where those
// are long the text is longer, and the heap is damaged (docs/decisions/0091). The text is cut here before the numbers, in
// place, so nothing moves; what other texts may share with its end stays as it is.

const TEXT = Buffer.from(
  'Attempting to write page at position %u, size %u, blocks %u, buffer sizes %i %i %i\0',
);
const CUT = Buffer.from(', buffer sizes');

/** Refuses an addon in which that text is not found once: then this is to be looked at again. */
export function mendedAddon(addon: Buffer): Buffer {
  const at = addon.indexOf(TEXT);
  if (at === -1 || addon.indexOf(TEXT, at + 1) !== -1) {
    throw new Error('lmdb’s addon is not the one that scripts/lmdb-addon.ts mends: see docs/decisions/0091');
  }
  const mended = Buffer.from(addon);
  mended[at + TEXT.indexOf(CUT)] = 0;
  return mended;
}
