// A namespace: the prefix of a cache URL and a REAPI instance name. Results live in one; blobs are shared by all,
// because a blob's address already says exactly what it is.
import { AssayError } from './errors.ts';

declare const namespaceBrand: unique symbol;

/** Zero or more parts joined by "/"; the empty one is the default. */
export type Namespace = string & { readonly [namespaceBrand]: true };

const MAX_LENGTH = 255;
const PART = /^[0-9A-Za-z_.-]+$/;

export const DEFAULT_NAMESPACE = '' as Namespace;

/**
 * Where the results of a protocol live whose keys are not digests of actions. No client can name it as a prefix or an
 * instance: "~" has no place in a namespace.
 */
export function protocolNamespace(protocol: string, within: Namespace): Namespace {
  return `~${protocol}${within === '' ? '' : `/${within}`}` as Namespace;
}

export function parseNamespace(text: string): Namespace {
  if (isNamespace(text)) return text;
  throw new AssayError('ASSAY_BAD_NAMESPACE', JSON.stringify(text.slice(0, MAX_LENGTH)));
}

/** A namespace that a store has written: a client's or a protocol's. Undefined for any other text. */
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
