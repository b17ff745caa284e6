// Parses Bazel's URLs: PREFIX/cas/SHA256 and PREFIX/ac/SHA256. The prefix is the namespace.
//
// The URL is not decoded or normalized. Two spellings of one namespace could bypass a rule on one of them, so
// any other spelling is refused.
import { type Hash, parseHash } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { DEFAULT_NAMESPACE, type Namespace, parseRequestedNamespace } from '../../../core/namespace.ts';
import type { Kind } from '../../request/metrics.ts';

export interface Address {
  readonly kind: Kind;
  readonly namespace: Namespace;
  readonly hash: Hash;
}

/** Undefined if the last but one part of the URL is not "cas" or "ac". */
export function kindOf(url: string): Kind | undefined {
  const slash = url.lastIndexOf('/');
  if (url.endsWith('/cas', slash)) return 'cas';
  return url.endsWith('/ac', slash) ? 'ac' : undefined;
}

/** The address in a URL of that kind. */
export function parseAddress(url: string, kind: Kind): Address {
  const slash = url.lastIndexOf('/');
  const prefix = url.slice(0, slash - kind.length - 1);
  return { kind, namespace: namespaceOf(prefix), hash: parseHash(url.slice(slash + 1)) };
}

/** The last valid prefix: one build sends thousands of requests with one prefix. */
let known = { prefix: '', namespace: DEFAULT_NAMESPACE };

function namespaceOf(prefix: string): Namespace {
  if (prefix === known.prefix) return known.namespace;
  if (prefix === '') return DEFAULT_NAMESPACE;
  if (!prefix.startsWith('/') || prefix === '/') throw oddSpelling(prefix);
  known = { prefix, namespace: parseRequestedNamespace(prefix.slice(1)) };
  return known.namespace;
}

function oddSpelling(prefix: string): AssayError {
  return new AssayError('ASSAY_BAD_NAMESPACE', JSON.stringify(prefix));
}
