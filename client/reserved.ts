// What no command may declare as something that it makes: it would be moved away before the command runs, and be gone if the
// command does not make it again.
import { AssayError } from '../core/errors.ts';
import type { RelPath } from '../core/path.ts';

const GIT = '.git';
const OWN = '.assay';
const CONFIGURATION = 'assay.json';

/** Why it can't be; undefined if it can. */
export function whyReserved(path: RelPath): string | undefined {
  const parts = path.split('/');
  if (parts.includes(GIT)) return `${path} is git’s own: no command makes it`;
  if (parts.includes(OWN)) return `${path} is Assay’s own: no command makes it`;
  if (parts.at(-1) === CONFIGURATION) return `${path} is what declares steps: no command makes it`;
  return undefined;
}

export function refuseReserved(path: RelPath): void {
  const why = whyReserved(path);
  if (why !== undefined) throw new AssayError('ASSAY_OUTPUT_RESERVED', why);
}
