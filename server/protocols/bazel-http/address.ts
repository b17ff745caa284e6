// A URL as Bazel writes it: <any prefix>/cas/<sha256> or <any prefix>/ac/<sha256>.
//
// It is taken literally. Nothing is decoded, joined or resolved: two spellings of one prefix would be two
// names for one namespace, and a rule on one of them would not hold for the other. What looks like another
// spelling is refused.
import { type Hash, parseHash } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { DEFAULT_NAMESPACE, type Namespace, parseNamespace } from '../../../core/namespace.ts';
import type { Kind } from '../../pages/metrics.ts';

export interface Address {
  readonly kind: Kind;
  readonly namespace: Namespace;
  readonly hash: Hash;
}

/** Undefined when the URL does not end in /cas/… or /ac/…, whatever the rest of it is. */
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

/** The last prefix that was found good: one build uses one prefix for thousands of requests. */
let known = { prefix: '', namespace: DEFAULT_NAMESPACE };

function namespaceOf(prefix: string): Namespace {
  if (prefix === known.prefix) return known.namespace;
  if (prefix === '') return DEFAULT_NAMESPACE;
  if (!prefix.startsWith('/') || prefix === '/') throw oddSpelling(prefix);
  known = { prefix, namespace: parseNamespace(prefix.slice(1)) };
  return known.namespace;
}

function oddSpelling(prefix: string): AssayError {
  return new AssayError('ASSAY_BAD_NAMESPACE', JSON.stringify(prefix));
}
