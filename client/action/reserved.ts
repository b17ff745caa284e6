// What no command may declare as something that it makes: it would be moved away before the command runs, and be gone if the
// command does not make it again.
import { AssayError } from '../../core/errors.ts';
import { nameToBytes, type RelPath } from '../../core/path.ts';
import { CONFIG_FILE } from './workspace-roots.ts';

/** They change by themselves: never inputs, whatever is declared, and nothing that a command makes. */
export function isPrivateFolder(name: string): boolean {
  return name === '.git' || name === '.assay';
}

/**
 * Whether some file system takes the name for `.git` or `.assay`: a hook that is restored there runs by itself. The rules are
 * those by which git judges what it checks out: HFS+ ignores case and some code points; NTFS ignores case, dots and spaces at
 * the end and what follows a colon, has a short name for each, and parts a path at a backslash.
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

/** All others are told apart at once: each name of a large output is looked at. */
const SUSPICIOUS = /git|assay|[^\x20-\x7e]|^%bytes:/i;
const IGNORED_BY_HFS = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;
const RESERVED = /^(?:\.(?:git|assay)|(?:git|assay)~1)[. ]*(?::|$)/;

/** Why it can't be; undefined if it can. */
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
