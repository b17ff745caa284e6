// Namespace: the prefix of a cache URL, and a REAPI instance name. Each result belongs to one namespace. All
// namespaces share the blobs, because a blob's digest is its address.
import { AssayError } from './errors.ts';

declare const namespaceBrand: unique symbol;

/** Zero or more parts joined by "/"; the empty one is the default. */
export type Namespace = string & { readonly [namespaceBrand]: true };

const MAX_LENGTH = 255;
const PART = /^[0-9A-Za-z_.-]+$/;

export const DEFAULT_NAMESPACE = '' as Namespace;

/**
 * The namespace of a protocol whose keys are not action digests. No client can address it by a prefix or an
 * instance name, because parseNamespace refuses "~".
 */
export function protocolNamespace(protocol: string, within: Namespace): Namespace {
  return `~${protocol}${within === '' ? '' : `/${within}`}` as Namespace;
}

export function parseNamespace(text: string): Namespace {
  if (isNamespace(text)) return text;
  throw new AssayError('ASSAY_BAD_NAMESPACE', JSON.stringify(text.slice(0, MAX_LENGTH)));
}

/** A namespace as the store keeps it: a client's or a protocol's. Undefined for any other text. */
export function storedNamespace(text: string): Namespace | undefined {
  const isWritten = isNamespace(text) || (text.startsWith('~') && areParts(text.slice(1)));
  return isWritten ? (text as Namespace) : undefined;
}

function isNamespace(text: string): text is Namespace {
  return text === '' || (text.length <= MAX_LENGTH && areParts(text));
}

function areParts(text: string): boolean {
  return text.split('/').every((part) => PART.test(part) && part !== '.' && part !== '..');
}
