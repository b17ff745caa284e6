// Checks the fields that all REAPI requests have: the instance name (a namespace), the digest function
// (SHA-256), and required digests.
import { type Digest, parseDigest } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { DEFAULT_NAMESPACE, type Namespace, parseRequestedNamespace } from '../../../core/namespace.ts';
import type { Digest as WireDigest } from '../../../core/proto/generated/reapi.ts';
import { DigestFunction_Value } from '../../../core/proto/generated/reapi-services.ts';

interface About {
  readonly instanceName: string;
  readonly digestFunction: number;
}

/** The last valid name: one build sends thousands of calls with one name. */
let known = { name: '', namespace: DEFAULT_NAMESPACE };

export function namespaceOf(instanceName: string): Namespace {
  if (instanceName !== known.name)
    known = { name: instanceName, namespace: parseRequestedNamespace(instanceName) };
  return known.namespace;
}

/** Most clients omit the digest function: the length of the hash implies it. */
export function instanceOf({ instanceName, digestFunction }: About): Namespace {
  if (digestFunction !== DigestFunction_Value.UNKNOWN && digestFunction !== DigestFunction_Value.SHA256) {
    throw new AssayError('ASSAY_UNSUPPORTED', 'the digest function is not SHA-256');
  }
  return namespaceOf(instanceName);
}

export function digestIn(wire: WireDigest | undefined): Digest {
  if (!wire) throw new AssayError('ASSAY_BAD_DIGEST', 'the request has no digest');
  return parseDigest(wire);
}
