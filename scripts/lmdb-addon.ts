// Patches lmdb's addon, so that a failed write cannot end the process. `npm ci` runs this for the sources,
// and the build copies the patched file.
//
// lmdb's C code formats the message of a failed write with sprintf into 100 bytes. Two of its numbers are
// uninitialised memory: if they are long, the text overruns and damages the heap (docs/decisions/0091). The
// patch ends the format string before the numbers, in place, so that no offset changes.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Works for Node and Bun: the addon uses N-API, not one version of V8. */
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

/**
 * Refuses an addon that does not contain the text exactly once: then lmdb has changed, and the patch needs a
 * review.
 */
export function mendedAddon(): Buffer {
  const addon = readFileSync(ADDON);
  if (isOnceIn(addon, MENDED)) return addon;
  if (!isOnceIn(addon, TEXT)) {
    throw new Error(
      'lmdb’s addon is not the version that scripts/lmdb-addon.ts patches: see docs/decisions/0091',
    );
  }
  MENDED.copy(addon, addon.indexOf(TEXT));
  return addon;
}

function isOnceIn(addon: Buffer, text: Buffer): boolean {
  const at = addon.indexOf(text);
  return at !== -1 && addon.indexOf(text, at + 1) === -1;
}

/** Renamed into place, not overwritten: a running process may have the file mapped. */
function mendInPlace(): void {
  const aside = `${ADDON}.mended`;
  writeFileSync(aside, mendedAddon());
  renameSync(aside, ADDON);
}

if (import.meta.main && existsSync(ADDON)) mendInPlace();
