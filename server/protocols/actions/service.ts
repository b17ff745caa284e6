// The three calls of the cache service. A lookup finds an entry only after it is finalized: until then the
// upload has another address.
import type { Hash } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import type { Namespace } from '../../../core/namespace.ts';
import type {
  CreateCacheEntryRequest,
  CreateCacheEntryResponse,
  FinalizeCacheEntryUploadRequest,
  FinalizeCacheEntryUploadResponse,
  GetCacheEntryDownloadURLRequest,
  GetCacheEntryDownloadURLResponse,
} from '../../../core/proto/generated/actions_cache.ts';
import { refuseInvalidLabel } from '../../../store/layers/labels.ts';
import type { Exchange } from '../../http/exchange.ts';
import { SERVER } from '../../limits.ts';
import { type Artifact, encodeArtifact, findArtifact } from '../shared/artifact.ts';
import { entryAddress, entryHash, pendingAddress, versionNamespace } from './entry.ts';
import { reservationsOf } from './reservations.ts';
import { signedUrl } from './signed-url.ts';

/** A miss is a normal response with `ok: false`, not an error. */
export async function getDownloadUrl(
  exchange: Exchange,
  within: Namespace,
  { key, version, restoreKeys }: GetCacheEntryDownloadURLRequest,
): Promise<GetCacheEntryDownloadURLResponse> {
  const { store, metrics } = exchange.server;
  const namespace = versionNamespace(within, version);
  if (restoreKeys.length > SERVER.maxRestoreKeys)
    throw new AssayError(
      'ASSAY_BAD_MESSAGE',
      `the request has more than ${SERVER.maxRestoreKeys} restore keys`,
    );
  const found = await store.labels.newest(namespace, restoreKeys, key);
  const artifact = found && (await findArtifact(store, { namespace, key: found.key }));
  metrics.lookedUp('actions', artifact !== undefined);
  if (!artifact) return { ok: false, signedDownloadUrl: '', matchedKey: '' };
  const url = signedUrl(exchange, `download/${artifact.digest.hash}`);
  return { ok: true, signedDownloadUrl: url, matchedKey: found.label };
}

export async function createEntry(
  exchange: Exchange,
  within: Namespace,
  { key, version }: CreateCacheEntryRequest,
): Promise<CreateCacheEntryResponse> {
  if (exchange.server.readOnly) return { ok: false, signedUploadUrl: '', message: WRITE_DENIED };
  refuseInvalidLabel(key);
  const address = entryAddress(within, version, key);
  const existing = await exchange.server.store.labels.newest(address.namespace, [], key);
  if (existing) throw alreadyExists(key);
  const entry = entryHash(address);
  const uploadId = reservationsOf(exchange.server).reserve(entry);
  if (uploadId === undefined) throw reserved(key);
  const url = signedUrl(exchange, `upload/${entry}/${uploadId}`);
  return { ok: true, signedUploadUrl: url, message: '' };
}

export async function finalizeEntry(
  exchange: Exchange,
  within: Namespace,
  { key, version, sizeBytes }: FinalizeCacheEntryUploadRequest,
): Promise<FinalizeCacheEntryUploadResponse> {
  if (exchange.server.readOnly) return { ok: false, entryId: 0, message: WRITE_DENIED };
  const { store, lifecycle } = exchange.server;
  const address = entryAddress(within, version, key);
  const entry = entryHash(address);
  const { uploadId, artifact } = await uploadedFor(exchange, entry, sizeBytes);
  /**
   * Write the label first. After a crash in between, a label without an entry is harmless. An entry without a
   * label could neither be found nor written again.
   */
  try {
    await lifecycle.whileWriting(async () => {
      await store.labels.put({ namespace: address.namespace, label: key }, address.key);
      const outcome = await store.results.put(address, encodeArtifact(artifact));
      if (outcome === 'diverged') throw alreadyExists(key);
    });
  } finally {
    reservationsOf(exchange.server).answered(entry, uploadId);
  }
  return { ok: true, entryId: Number.parseInt(address.key.slice(0, 12), 16), message: '' };
}

interface Uploaded {
  readonly uploadId: string;
  readonly artifact: Artifact;
}

/**
 * The upload of that size. The call does not name the upload. Two different uploads of that size are an
 * error, because one may be another job's.
 */
async function uploadedFor({ server }: Exchange, entry: Hash, sizeBytes: number): Promise<Uploaded> {
  const uploads: Uploaded[] = [];
  for (const uploadId of reservationsOf(server).uploadIdsOf(entry)) {
    const artifact = await findArtifact(server.store, pendingAddress(entry, uploadId));
    if (artifact) uploads.push({ uploadId, artifact });
  }
  const [any] = uploads;
  if (!any) throw new AssayError('ASSAY_NOT_FOUND', 'nothing was uploaded for this entry');
  const matching = uploads.filter(({ artifact }) => artifact.digest.size === sizeBytes);
  const [one] = matching;
  if (!one) throw otherSize(sizeBytes, any.artifact.digest.size);
  if (matching.some(({ artifact }) => artifact.digest.hash !== one.artifact.digest.hash)) throw ambiguous();
  return one;
}

/** GitHub's clients recognize a denial by the beginning of this text. */
const WRITE_DENIED = 'cache write denied: this server is read-only';

function reserved(key: string): AssayError {
  const name = JSON.stringify(key.slice(0, 512));
  return new AssayError('ASSAY_ENTRY_RESERVED', `another job is uploading the entry ${name}`);
}

function ambiguous(): AssayError {
  return new AssayError('ASSAY_ENTRY_RESERVED', 'two jobs have uploaded different content of that size');
}

function alreadyExists(key: string): AssayError {
  return new AssayError(
    'ASSAY_RECORD_EXISTS',
    `the entry ${JSON.stringify(key.slice(0, 512))} already exists`,
  );
}

function otherSize(announced: number, uploaded: number): AssayError {
  return new AssayError('ASSAY_SIZE_MISMATCH', `${announced} bytes announced, ${uploaded} uploaded`);
}
