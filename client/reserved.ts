// What no command may declare as something that it makes: it would be moved away before the command runs, and be gone if the
// command does not make it again.
import { AssayError } from '../core/errors.ts';
import type { RelPath } from '../core/path.ts';
import { CONFIG_FILE } from './config/roots.ts';

/** They change by themselves: never inputs, whatever is declared, and nothing that a command makes. */
export function isPrivateFolder(name: string): boolean {
  return name === '.git' || name === '.assay';
}

/** Why it can't be; undefined if it can. */
export function whyReserved(path: RelPath): string | undefined {
  const parts = path.split('/');
  const folder = parts.find(isPrivateFolder);
  if (folder !== undefined)
    return `${path} is ${folder === '.git' ? 'git’s' : 'Assay’s'} own: no command makes it`;
  if (parts.at(-1) === CONFIG_FILE) return `${path} is what declares steps: no command makes it`;
  return undefined;
}

export function refuseReserved(path: RelPath): void {
  const why = whyReserved(path);
  if (why !== undefined) throw new AssayError('ASSAY_OUTPUT_RESERVED', why);
}
