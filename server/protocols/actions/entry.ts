// A cache entry of GitHub Actions: a key within a version, which is a hash of the paths and the compression.
// Entries of one version are labelled by their keys, so that they are found by how these begin.

import { digestOf, type Hash } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { isLossless } from '../../../core/lossless-text.ts';
import { DEFAULT_NAMESPACE, type Namespace, protocolNamespace } from '../../../core/namespace.ts';
import type { ResultAddress } from '../../../store/store.ts';

const MAX_VERSION_LENGTH = 512;
const PENDING = protocolNamespace('actions-pending', DEFAULT_NAMESPACE);

/** Any text is a version; what it is called by here is its hash. */
export function versionNamespace(within: Namespace, version: string): Namespace {
  if (version === '' || version.length > MAX_VERSION_LENGTH || !isLossless(version))
    throw new AssayError('ASSAY_BAD_MESSAGE', `a version has 1 to ${MAX_VERSION_LENGTH} characters of UTF-8`);
  return protocolNamespace(`actions/${hashOf(version)}`, within);
}

export function entryAddress(within: Namespace, version: string, key: string): ResultAddress {
  return { namespace: versionNamespace(within, version), key: hashOf(key) };
}

/** One name for the entry, whatever its namespace: part of a signed address. */
export function entryHash({ namespace, key }: ResultAddress): Hash {
  return hashOf(`${namespace}\0${key}`);
}

/** Where an upload for an entry lies until it is finalized. Every upload has a place of its own. */
export function pendingAddress(entry: Hash, uploadId: string): ResultAddress {
  return { namespace: PENDING, key: hashOf(`${entry}\0${uploadId}`) };
}

function hashOf(text: string): Hash {
  return digestOf(Buffer.from(text)).hash;
}
