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
import type { ResultAddress } from '../../../store/store.ts';
import { all, isMet } from '../../access/rights.ts';
import type { Exchange } from '../../http/exchange.ts';
import { SERVER } from '../../limits.ts';
import { type Artifact, encodeArtifact, findArtifact, findOwnArtifact } from '../shared/artifact.ts';
import { GET_ARTIFACT } from '../shared/artifact-exchange.ts';
import { entryAddress, entryHash, pendingAddress, versionNamespace } from './entry.ts';
import { reservationsOf } from './reservations.ts';
import { signedUrl } from './signed-url.ts';

/** A miss is a normal response with `ok: false`, not an error. */
export async function getDownloadUrl(
  exchange: Exchange,
  within: Namespace,
  { key, version, restoreKeys }: GetCacheEntryDownloadURLRequest,
): Promise<GetCacheEntryDownloadURLResponse> {
  exchange.require(GET_ARTIFACT);
  const { store } = exchange;
  const namespace = versionNamespace(within, version);
  if (restoreKeys.length > SERVER.maxRestoreKeys)
    throw new AssayError(
      'ASSAY_BAD_MESSAGE',
      `the request has more than ${SERVER.maxRestoreKeys} restore keys`,
    );
  const found = await store.labels.newest(namespace, restoreKeys, key);
  const artifact = found && (await findArtifact(store, { namespace, key: found.key }));
  const address = found ? { namespace, key: found.key } : entryAddress(within, version, key);
  exchange.lookedUp('actions', 'actions', artifact !== undefined, address);
  if (!artifact) return { ok: false, signedDownloadUrl: '', matchedKey: '' };
  const url = signedUrl(exchange, `download/${artifact.digest.hash}`);
  return { ok: true, signedDownloadUrl: url, matchedKey: found.label };
}

export async function createEntry(
  exchange: Exchange,
  within: Namespace,
  { key, version }: CreateCacheEntryRequest,
): Promise<CreateCacheEntryResponse> {
  const denied = whyDenied(exchange);
  if (denied) {
    exchange.server.metrics.denied('actions');
    return { ok: false, signedUploadUrl: '', message: denied };
  }
  refuseInvalidLabel(key);
  const address = entryAddress(within, version, key);
  if (await isInOwn(exchange, address, key)) throw alreadyExists(key);
  const entry = entryHash(exchange.store.own(address));
  const uploadId = reservationsOf(exchange.server).reserve(entry, exchange.store.identity.namespace);
  if (uploadId === undefined) throw reserved(key);
  const url = signedUrl(exchange, `upload/${entry}/${uploadId}`);
  return { ok: true, signedUploadUrl: url, message: '' };
}

export async function finalizeEntry(
  exchange: Exchange,
  within: Namespace,
  { key, version, sizeBytes }: FinalizeCacheEntryUploadRequest,
): Promise<FinalizeCacheEntryUploadResponse> {
  const denied = whyDenied(exchange);
  if (denied) return { ok: false, entryId: 0, message: denied };
  const {
    store,
    server: { lifecycle },
  } = exchange;
  const address = entryAddress(within, version, key);
  const entry = entryHash(exchange.store.own(address));
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
async function uploadedFor({ server, store }: Exchange, entry: Hash, sizeBytes: number): Promise<Uploaded> {
  const uploads: Uploaded[] = [];
  for (const uploadId of reservationsOf(server).uploadIdsOf(entry)) {
    const artifact = await findOwnArtifact(store, pendingAddress(entry, uploadId));
    if (artifact) uploads.push({ uploadId, artifact });
  }
  const [any] = uploads;
  if (!any) throw new AssayError('ASSAY_NOT_FOUND', NOTHING_UPLOADED);
  const matching = uploads.filter(({ artifact }) => artifact.digest.size === sizeBytes);
  const [one] = matching;
  if (!one) throw otherSize(sizeBytes, any.artifact.digest.size);
  if (matching.some(({ artifact }) => artifact.digest.hash !== one.artifact.digest.hash)) throw ambiguous();
  return one;
}

/** The client shows this text. A job whose upload arrived sees it only if the server has restarted since. */
const NOTHING_UPLOADED = 'this entry has no upload since the server started; save it again';

const WRITES_ENTRY = all('results:write', 'blobs:write', 'labels:write');

/** GitHub's clients recognize a denial by the beginning of this text. They go on without saving. */
function whyDenied({ server, store }: Exchange): string | undefined {
  if (server.readOnly) return 'cache write denied: this server is read-only';
  if (isMet(WRITES_ENTRY, store.identity.rights)) return undefined;
  return `cache write denied: the token lacks the right ${WRITES_ENTRY.rights.join(' and ')}`;
}

/** An entry of another namespace that this one reads does not stop a save into the own one. */
async function isInOwn({ store }: Exchange, { namespace }: ResultAddress, key: string): Promise<boolean> {
  const found = await store.labels.newest(namespace, [], key);
  return found !== undefined && (store.namespace ?? '') === store.identity.namespace;
}

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
