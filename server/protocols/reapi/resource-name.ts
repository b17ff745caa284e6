// Parses the resource names of ByteStream:
//
//   read   := [instance "/"] blob
//   write  := [instance "/"] "uploads/" id "/" blob ["/" anything]
//   blob   := ("blobs/" | "compressed-blobs/" compressor "/") ["sha256/"] hash "/" size
//
// An instance may contain "/", but not the words "blobs", "compressed-blobs" and "uploads": the first of them
// ends it.

import { type Digest, parseDigest } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import type { Namespace } from '../../../core/namespace.ts';
import { PROTOCOL } from '../../limits.ts';
import { namespaceOf } from './instance.ts';

interface BlobName {
  readonly namespace: Namespace;
  readonly digest: Digest;
  readonly isCompressed: boolean;
}

export interface UploadName extends BlobName {
  /** The UUID that the client chose for this upload. */
  readonly id: string;
}

const READ = /^(?:(.+?)\/)??(?:blobs|compressed-blobs\/([^/]*))\/(?:sha256\/)?([^/]*)\/(\d{1,16})$/;
const WRITE =
  /^(?:(.+?)\/)??uploads\/([^/]{1,128})\/(?:blobs|compressed-blobs\/([^/]*))\/(?:sha256\/)?([^/]*)\/(\d{1,16})(?:\/.*)?$/s;

export function parseReadName(text: string): BlobName {
  const match = text.length <= PROTOCOL.maxResourceNameLength ? READ.exec(text) : null;
  if (!match) throw badResourceName(text);
  const [, instance = '', compressor, hash = '', size = ''] = match;
  return { ...blobOf(hash, size, compressor), namespace: namespaceOf(instance) };
}

export function parseUploadName(text: string): UploadName {
  const match = text.length <= PROTOCOL.maxResourceNameLength ? WRITE.exec(text) : null;
  if (!match) throw badResourceName(text);
  const [, instance = '', id = '', compressor, hash = '', size = ''] = match;
  return { ...blobOf(hash, size, compressor), namespace: namespaceOf(instance), id };
}

/** The id of the upload in the store. It contains the digest, so one UUID for two blobs gives two uploads. */
export function uploadId({ namespace, id, digest, isCompressed }: UploadName): string {
  return ['reapi', namespace, id, digest.hash, digest.size, isCompressed ? 'zstd' : ''].join(':');
}

function blobOf(hash: string, size: string, compressor: string | undefined): Omit<BlobName, 'namespace'> {
  if (compressor !== undefined && compressor !== 'zstd' && compressor !== 'identity') {
    throw new AssayError('ASSAY_UNSUPPORTED', 'the compressor must be zstd or identity');
  }
  return { digest: parseDigest({ hash, sizeBytes: Number(size) }), isCompressed: compressor === 'zstd' };
}

function badResourceName(text: string): AssayError {
  return new AssayError('ASSAY_BAD_RESOURCE_NAME', JSON.stringify(text.slice(0, 200)));
}
