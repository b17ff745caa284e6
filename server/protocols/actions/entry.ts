// The addresses of a cache entry of GitHub Actions. An entry has a key and a version, which is a hash of the
// paths and the compression. A label for each key lets a lookup find entries by a prefix.

import { digestOf, type Hash } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import {
  DEFAULT_NAMESPACE,
  type Namespace,
  protocolNamespace,
  UPLOAD_PARTS,
} from '../../../core/namespace.ts';
import { isLossless } from '../../../core/text/lossless.ts';
import type { ResultAddress } from '../../../store/store.ts';
import { PROTOCOL } from '../../limits.ts';

const PENDING = protocolNamespace(UPLOAD_PARTS.actions, DEFAULT_NAMESPACE);

/**
 * The namespace of all entries of a version. A version may be any text, so its hash is part of the namespace.
 */
export function versionNamespace(within: Namespace, version: string): Namespace {
  if (version === '' || version.length > PROTOCOL.maxVersionLength || !isLossless(version))
    throw new AssayError(
      'ASSAY_BAD_MESSAGE',
      `version must have 1 to ${PROTOCOL.maxVersionLength} characters`,
    );
  return protocolNamespace(`actions/${hashOf(version)}`, within);
}

export function entryAddress(within: Namespace, version: string, key: string): ResultAddress {
  return { namespace: versionNamespace(within, version), key: hashOf(key) };
}

/** The hash of namespace and key, which names the entry in a signed URL. */
export function entryHash({ namespace, key }: ResultAddress): Hash {
  return hashOf(`${namespace}\0${key}`);
}

/** The address of an upload until it is finalized. Each upload has its own. */
export function pendingAddress(entry: Hash, uploadId: string): ResultAddress {
  return { namespace: PENDING, key: hashOf(`${entry}\0${uploadId}`) };
}

function hashOf(text: string): Hash {
  return digestOf(Buffer.from(text)).hash;
}
