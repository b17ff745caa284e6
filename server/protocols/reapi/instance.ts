// What the requests of REAPI have in common: an instance name, which is a namespace, a digest function, which
// is SHA-256, and digests, which must be there.
import { type Digest, parseDigest } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { DEFAULT_NAMESPACE, type Namespace, parseNamespace } from '../../../core/namespace.ts';
import type { Digest as WireDigest } from '../../../core/proto/generated/reapi.ts';
import { DigestFunction_Value } from '../../../core/proto/generated/reapi-services.ts';

interface About {
  readonly instanceName: string;
  readonly digestFunction: number;
}

/** The last name that was found good: one build uses one for thousands of calls. */
let known = { name: '', namespace: DEFAULT_NAMESPACE };

export function namespaceOf(instanceName: string): Namespace {
  if (instanceName !== known.name) known = { name: instanceName, namespace: parseNamespace(instanceName) };
  return known.namespace;
}

/** Most clients leave the function out: the length of a hash tells which one it is. */
export function instanceOf({ instanceName, digestFunction }: About): Namespace {
  if (digestFunction !== DigestFunction_Value.UNKNOWN && digestFunction !== DigestFunction_Value.SHA256) {
    throw new AssayError('ASSAY_UNSUPPORTED', 'the digest function is not SHA-256');
  }
  return namespaceOf(instanceName);
}

export function digestIn(wire: WireDigest | undefined): Digest {
  if (!wire) throw new AssayError('ASSAY_BAD_DIGEST', 'there is no digest');
  return parseDigest(wire);
}
