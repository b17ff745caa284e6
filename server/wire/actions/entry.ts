// A cache entry of GitHub Actions: a key within a version, which is a hash of the paths and the compression. Entries of one
// version are labelled by their keys, so that they are found by how these begin.
import { digestOf, type Hash } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { DEFAULT_NAMESPACE, type Namespace, protocolNamespace } from '../../../core/namespace.ts';
import { isDistinct } from '../../../core/text.ts';
import type { ResultAddress } from '../../../store/store.ts';

const MAX_VERSION_LENGTH = 512;
const PENDING = protocolNamespace('actions-pending', DEFAULT_NAMESPACE);

/** Any text is a version; what it is called by here is its hash. */
export function versionNamespace(within: Namespace, version: string): Namespace {
  if (version === '' || version.length > MAX_VERSION_LENGTH || !isDistinct(version))
    throw new AssayError('ASSAY_BAD_MESSAGE', `a version has 1 to ${MAX_VERSION_LENGTH} characters of UTF-8`);
  return protocolNamespace(`actions/${hashOf(version)}`, within);
}

export function entryAddress(within: Namespace, version: string, key: string): ResultAddress {
  return { namespace: versionNamespace(within, version), key: hashOf(key) };
}

/** Where that lies which was uploaded for an entry and is not finalized. One entry has one such place, the last wins. */
export function pendingAddress({ namespace, key }: ResultAddress): ResultAddress {
  return pendingAddressOf(hashOf(`${namespace}\0${key}`));
}

export function pendingAddressOf(key: Hash): ResultAddress {
  return { namespace: PENDING, key };
}

function hashOf(text: string): Hash {
  return digestOf(Buffer.from(text)).hash;
}
