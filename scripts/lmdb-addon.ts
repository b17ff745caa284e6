// lmdb's addon as Assay uses it: without the one place that can take the process down when a write fails. `npm ci` runs this, for
// who runs from the sources, and the build takes it along.
//
// Its C code tells of a failed write with sprintf into 100 bytes, among them two numbers that were never set: where those
// are long the text is longer, and the heap is damaged (docs/decisions/0091). The text is cut here before the numbers, in
// place, so nothing moves; what other texts may share with its end stays as it is.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** It runs on Node and Bun alike: it is built against N-API, not against one version's V8. */
export const ADDON = join(
  import.meta.dirname,
  `../node_modules/@lmdb/lmdb-linux-${process.arch}/node.napi.glibc.node`,
);

const TEXT = Buffer.from(
  'Attempting to write page at position %u, size %u, blocks %u, buffer sizes %i %i %i\0',
);
const CUT = Buffer.from(', buffer sizes');

const AT_CUT = TEXT.indexOf(CUT);
const MENDED = Buffer.concat([TEXT.subarray(0, AT_CUT), Buffer.from([0]), TEXT.subarray(AT_CUT + 1)]);

/** Refuses an addon in which that text is not found once: then this is to be looked at again. */
export function mendedAddon(): Buffer {
  const addon = readFileSync(ADDON);
  if (isOnceIn(addon, MENDED)) return addon;
  if (!isOnceIn(addon, TEXT)) {
    throw new Error('lmdb’s addon is not the one that scripts/lmdb-addon.ts mends: see docs/decisions/0091');
  }
  MENDED.copy(addon, addon.indexOf(TEXT));
  return addon;
}

function isOnceIn(addon: Buffer, text: Buffer): boolean {
  const at = addon.indexOf(text);
  return at !== -1 && addon.indexOf(text, at + 1) === -1;
}

/** Replaced, not overwritten: a process may have it in its memory. */
function mendInPlace(): void {
  const aside = `${ADDON}.mended`;
  writeFileSync(aside, mendedAddon());
  renameSync(aside, ADDON);
}

if (import.meta.main && existsSync(ADDON)) mendInPlace();
