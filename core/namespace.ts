// Namespace: the prefix of a cache URL, and a REAPI instance name. Each result belongs to one namespace. The
// namespaces of a tenant share their blobs, because a blob's digest is its address. Without tenants all share them.

import { AssayError } from './errors.ts';
import { NAMES } from './limits.ts';

declare const namespaceBrand: unique symbol;

/** Zero or more parts joined by "/"; the empty one is the default. */
export type Namespace = string & { readonly [namespaceBrand]: true };

/** The first parts of the addresses of pages and of their API. A request can't name a namespace below one. */
const PAGE_NAMES: ReadonlySet<string> = new Set([
  'action',
  'api',
  'hermeticity',
  'login',
  'logout',
  'misses',
  'runs',
  'setup',
  'storage',
]);

const PART = /^[0-9A-Za-z_.-]+$/;

/** The header of an answer that names the namespace of what was found or written. */
export const NAMESPACE_HEADER = 'assay-namespace';

export const DEFAULT_NAMESPACE = '' as Namespace;

/** The part above the names of pull requests. No trusted run has it: no template contains it, and no claim becomes it. */
export const PULL_REQUESTS = 'pr';

/**
 * The namespace of a protocol whose keys are not action digests. No client can address it by a prefix or an
 * instance name, because parseNamespace refuses "~".
 */
export function protocolNamespace(protocol: string, within: Namespace): Namespace {
  return `~${protocol}${within === '' ? '' : `/${within}`}` as Namespace;
}

/** Protocols whose results are the parts of uploads that are not finished. */
export const UPLOAD_PARTS = { actions: 'actions-pending', azure: 'azure-blocks' } as const;

/** True if a result with this namespace is a part of an upload, and no entry yet. */
export function isUploadPart(stored: Namespace): boolean {
  return Object.values(UPLOAD_PARTS).some((protocol) => `${stored}/`.startsWith(`~${protocol}/`));
}

/**
 * Between the namespace of an identity and the one that its request names. No client can send it, so what one
 * identity writes below its namespace is never the namespace of another.
 */
const BELOW = '=';

/** The namespace that a request names, below the one of its identity. The protocol stays the first part. */
export function namespaceBelow(base: Namespace, requested: Namespace): Namespace {
  if (base === '') return requested;
  if (!requested.startsWith('~')) return joined(base, requested) as Namespace;
  const slash = requested.indexOf('/');
  if (slash === -1) return `${requested}/${base}` as Namespace;
  return `${requested.slice(0, slash)}/${joined(base, requested.slice(slash + 1))}` as Namespace;
}

function joined(base: string, requested: string): string {
  return requested === '' ? base : `${base}/${BELOW}/${requested}`;
}

/**
 * True if a stored namespace is `base`, lies below it, or is that of a protocol there. Every namespace lies
 * below the empty one.
 */
export function isNamespaceAtOrBelow(stored: Namespace, base: Namespace): boolean {
  const path = withoutProtocol(stored);
  return base === '' || path === base || path.startsWith(`${base}/`);
}

/** What a reader sees: these namespaces, or also all that lie at or below one. Undefined: every namespace. */
export type NamespaceRange =
  | readonly Namespace[]
  | { readonly below: Namespace; readonly besides: readonly Namespace[] }
  | undefined;

export function isInRange(stored: Namespace, range: NamespaceRange): boolean {
  if (range === undefined) return true;
  return 'below' in range
    ? isNamespaceAtOrBelow(stored, range.below) || range.besides.includes(stored)
    : range.includes(stored);
}

/** The part of a range that lies in one namespace. */
export function narrowedTo(namespace: Namespace, range: NamespaceRange): NamespaceRange {
  return isInRange(namespace, range) ? [namespace] : [];
}

/** True if an identity with the namespace `base` writes to it: not for the namespaces of other identities. */
export function isWrittenFrom(stored: Namespace, base: Namespace): boolean {
  const path = withoutProtocol(stored);
  return base === '' || path === base || path.startsWith(`${base}/${BELOW}/`);
}

/** The namespace of the identity that writes here, or would: what is stored without the rest of the request. */
export function writtenFrom(stored: Namespace): Namespace {
  const path = withoutProtocol(stored);
  const below = path.indexOf(`/${BELOW}/`);
  return (below === -1 ? path : path.slice(0, below)) as Namespace;
}

/** The path of a stored namespace: that of a protocol without the protocol. */
export function withoutProtocol(stored: string): string {
  if (!stored.startsWith('~')) return stored;
  const slash = stored.indexOf('/');
  return slash === -1 ? '' : stored.slice(slash + 1);
}

/** The tenant of a namespace is its first part: blobs are walled by it. */
export function tenantIn(namespace: string): string {
  const slash = namespace.indexOf('/');
  return slash === -1 ? namespace : namespace.slice(0, slash);
}

/** The nearest first, without the empty one. */
export function ancestorsOf(namespace: Namespace): Namespace[] {
  const ancestors: Namespace[] = [];
  for (let end = namespace.lastIndexOf('/'); end > 0; end = namespace.lastIndexOf('/', end - 1))
    ancestors.push(namespace.slice(0, end) as Namespace);
  return ancestors;
}

export function parseNamespace(text: string): Namespace {
  if (isNamespace(text)) return text;
  throw new AssayError('ASSAY_BAD_NAMESPACE', JSON.stringify(text.slice(0, NAMES.maxNamespaceLength)));
}

/**
 * The namespace that the URL, the instance name or the bucket of a request names. The namespace of a token may
 * have any name: it is in no URL.
 */
export function parseRequestedNamespace(text: string): Namespace {
  const slash = text.indexOf('/');
  const first = slash === -1 ? text : text.slice(0, slash);
  if (!PAGE_NAMES.has(first)) return parseNamespace(text);
  throw new AssayError('ASSAY_BAD_NAMESPACE', `${JSON.stringify(first)} is the name of a page of the server`);
}

/** A namespace as the store keeps it: an identity's or a protocol's. Undefined for any other text. */
export function storedNamespace(text: string): Namespace | undefined {
  const parts = text
    .replace(/^~/, '')
    .split('/')
    .filter((part) => part !== BELOW);
  return text === '' || parts.every(isPart) ? (text as Namespace) : undefined;
}

function isNamespace(text: string): text is Namespace {
  return text === '' || (text.length <= NAMES.maxNamespaceLength && areParts(text));
}

function areParts(text: string): boolean {
  return text.split('/').every(isPart);
}

function isPart(part: string): boolean {
  return PART.test(part) && part !== '.' && part !== '..';
}
