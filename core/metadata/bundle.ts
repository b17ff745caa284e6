// The bundle that a result came with (wings/bundles), as the text of the protocol of its writer. `assay forget --bundle` finds
// results by it, and a lookup trusts them no more than those of a remote.
import { type Hash, isHash } from '../digest.ts';

/** The header of a request that writes what came with a bundle. Its value is the digest of the bundle. */
export const BUNDLE_HEADER = 'assay-bundle';

const PREFIX = 'bundle:';

export function viaBundle(bundle: Hash): string {
  return `${PREFIX}${bundle}`;
}

/** Undefined for results that came in any other way. */
export function bundleIn(via: string | undefined): Hash | undefined {
  if (via?.startsWith(PREFIX) !== true) return undefined;
  const bundle = via.slice(PREFIX.length);
  return isHash(bundle) ? bundle : undefined;
}
