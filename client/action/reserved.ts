// Paths that no command may declare as output: .git, .assay and assay.json. Outputs are set aside before the
// command runs, and are lost if the command does not make them again.

import { AssayError } from '../../core/errors.ts';
import { nameToBytes, type RelPath } from '../../core/path.ts';
import { ASSAY_FOLDER } from '../../system/paths/assay-folder.ts';
import { CONFIG_FILE } from './workspace-roots.ts';

/** Folders that change by themselves: never inputs, never outputs. */
export function isPrivateFolder(name: string): boolean {
  return name === '.git' || name === ASSAY_FOLDER;
}

/**
 * Whether some file system treats the name as `.git` or `.assay`: a hook restored there would run. The rules
 * are git's own for checkouts. HFS+ ignores case and some code points. NTFS ignores case, trailing dots and
 * spaces, and everything after a colon; it has a short name for each, and splits paths at a backslash.
 */
export function isReservedName(name: string): boolean {
  if (!SUSPICIOUS.test(name)) return false;
  const text = nameToBytes(name).toString('utf8').replace(IGNORED_BY_HFS, '');
  return text
    .toUpperCase()
    .toLowerCase()
    .split('\\')
    .some((part) => RESERVED.test(part));
}

/** A fast test for all other names: it runs for each name of a large output. */
const SUSPICIOUS = /git|assay|[^\x20-\x7e]|^%bytes:/i;
const IGNORED_BY_HFS = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;
const RESERVED = /^(?:\.(?:git|assay)|(?:git|assay)~1)[. ]*(?::|$)/;

/** Why the path cannot be an output; undefined if it can. */
export function whyReserved(path: RelPath): string | undefined {
  const parts = path.split('/');
  const folder = parts.find(isReservedName);
  if (folder !== undefined) return `${path} is ${ownerOf(folder)} own: no command makes it`;
  if (parts.at(-1) === CONFIG_FILE) return `${path} is what declares steps: no command makes it`;
  return undefined;
}

export function refuseReserved(path: RelPath): void {
  const why = whyReserved(path);
  if (why !== undefined) throw new AssayError('ASSAY_OUTPUT_RESERVED', why);
}

function ownerOf(reserved: string): string {
  return /assay/i.test(reserved) ? 'Assay’s' : 'git’s';
}
