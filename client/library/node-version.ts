// Refuses a Node that lacks functions the library uses. The caller chooses the Node, and an older one would
// fail in the middle of a run. (The command brings its own Node, or needs none.)
import { AssayError } from '../../core/errors.ts';

/**
 * The minimum of undici, the most demanding dependency. Node 23 ended before it had all. README states it
 * too.
 */
export function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 23 || (major === 22 && minor >= 19);
}

export function refuseOldNode(version: string): void {
  if (!isNewEnough(version))
    throw new AssayError('ASSAY_OLD_NODE', `the library needs Node 22.19 or later, and this is ${version}`);
}

refuseOldNode(process.versions.node);
