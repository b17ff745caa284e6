// The library runs in a Node that somebody else has chosen, and refuses one that lacks what it calls: there it would fail in the
// middle, or store nothing and not say so. (The command brings its own Node, or needs none.)
import { AssayError } from '../../core/errors.ts';

/** That of undici, which wants most; 23 ended before it had all. README names it, too. */
export function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 23 || (major === 22 && minor >= 19);
}

export function refuseOldNode(version: string): void {
  if (!isNewEnough(version))
    throw new AssayError('ASSAY_OLD_NODE', `the library needs Node 22.19 or later, and this is ${version}`);
}

refuseOldNode(process.versions.node);
