// Patches lmdb's addon, which is compiled code, in three places. `npm ci` runs this for the sources, and the
// build copies the patched file. Each patch replaces bytes by as many others, so that no offset changes.
//
// A failed write: lmdb's C code formats the message with sprintf into 100 bytes. Two of its numbers are
// uninitialised memory: if they are long, the text overruns and damages the heap (docs/decisions/0091). The
// patch ends the format string before the numbers.
//
// Opening: every process that opens an index sets the number of the last transaction, for all processes, to
// what it read a moment before. If another process has committed since, that commit is lost. Closing: the last
// process destroys the mutexes, also if another one waits to use them (docs/decisions/0280). The patches turn
// a conditional jump around each of these statements into one that is always taken.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Works for Node and Bun: the addon uses N-API, not one version of V8. */
export const ADDON_FILE = 'node.napi.glibc.node';

export const ADDON = join(import.meta.dirname, `../node_modules/${addonPackage(process.arch)}/${ADDON_FILE}`);

interface Patch {
  readonly place: string;
  readonly before: Buffer;
  readonly after: Buffer;
}

const MESSAGE = 'Attempting to write page at position %u, size %u, blocks %u';
const NUMBERS = ', buffer sizes %i %i %i\0';

const FAILED_WRITE: Patch = {
  place: 'the message of a failed write',
  before: Buffer.from(`${MESSAGE}${NUMBERS}`),
  after: Buffer.from(`${MESSAGE}\0${NUMBERS.slice(1)}`),
};

/**
 * Machine code from the jump's condition to an instruction behind the jump, with `JUMP` for the jump. In C:
 * `if (env->me_txns) env->me_txns->mti_txnid = meta.mm_txnid;` and `if (excl > 0) pthread_mutex_destroy(…);`.
 */
const CODE: Readonly<Record<string, { readonly opening: JumpPatch; readonly closing: JumpPatch }>> = {
  x64: {
    opening: {
      code: '488b4048 4885c0 JUMP 488b8528fdffff 488b4048 488b55c0 48895008 b800000000 c9 c3',
      before: '7413',
      after: 'eb13',
    },
    closing: { code: '8b45c4 85c0 JUMP 488b45c8 488b4048 4883c018 4889c7', before: '7e3c', after: 'eb3c' },
  },
  arm64: {
    opening: {
      code: '1f0000f1 JUMP e00740f9 002440f9 e1a340f9 010400f9 00008052',
      before: 'a0000054',
      after: '05000014',
    },
    closing: {
      code: 'e01740b9 1f000071 JUMP e00f40f9 002440f9 00600091',
      before: 'ad010054',
      after: '0d000014',
    },
  },
};

interface JumpPatch {
  readonly code: string;
  readonly before: string;
  readonly after: string;
}

/** The npm package that has the addon for an architecture, as Node names it. */
export function addonPackage(arch: string): string {
  return `@lmdb/lmdb-linux-${arch}`;
}

export function mendedAddon(): Buffer {
  return mended(readFileSync(ADDON), process.arch);
}

/** A file that is mended already comes back as it is. */
export function mended(addon: Buffer, arch: string): Buffer {
  const code = CODE[arch];
  if (!code) throw new Error(`scripts/lmdb-addon.ts has no patches for ${arch}`);
  const patches = [FAILED_WRITE, jumpPatch('opening', code.opening), jumpPatch('closing', code.closing)];
  return patches.reduce(apply, addon);
}

function jumpPatch(place: string, { code, before, after }: JumpPatch): Patch {
  const bytesWith = (jump: string) => Buffer.from(code.replace('JUMP', jump).replaceAll(' ', ''), 'hex');
  return { place, before: bytesWith(before), after: bytesWith(after) };
}

/**
 * Refuses an addon that does not contain the bytes exactly once: then lmdb has changed, and the patch needs a
 * review.
 */
function apply(addon: Buffer, { place, before, after }: Patch): Buffer {
  if (isOnceIn(addon, after)) return addon;
  if (!isOnceIn(addon, before)) {
    throw new Error(`lmdb’s addon is not the version that scripts/lmdb-addon.ts patches (${place})`);
  }
  const patched = Buffer.from(addon);
  after.copy(patched, addon.indexOf(before));
  return patched;
}

function isOnceIn(addon: Buffer, bytes: Buffer): boolean {
  const at = addon.indexOf(bytes);
  return at !== -1 && addon.indexOf(bytes, at + 1) === -1;
}

/** Renamed into place, not overwritten: a running process may have the file mapped. */
function mendInPlace(): void {
  const aside = `${ADDON}.mended`;
  writeFileSync(aside, mendedAddon());
  renameSync(aside, ADDON);
}

if (import.meta.main && existsSync(ADDON)) mendInPlace();
