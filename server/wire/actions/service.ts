// The three calls of the cache service. An entry is found from the moment when it is finalized, and never before: until
// then what was uploaded for it lies elsewhere.
import { randomBytes } from 'node:crypto';
import { AssayError } from '../../../core/errors.ts';
import { SERVER } from '../../../core/limits.ts';
import type { Namespace } from '../../../core/namespace.ts';
import type {
  CreateCacheEntryRequest,
  CreateCacheEntryResponse,
  FinalizeCacheEntryUploadRequest,
  FinalizeCacheEntryUploadResponse,
  GetCacheEntryDownloadURLRequest,
  GetCacheEntryDownloadURLResponse,
} from '../../../core/proto/generated/actions_cache.ts';
import { refuseUnfit } from '../../../store/labels.ts';
import type { Exchange } from '../../exchange.ts';
import { encodeArtifact, findArtifact } from '../artifact.ts';
import { entryAddress, pendingAddress, versionNamespace } from './entry.ts';
import { ticketUrl } from './ticket.ts';

/** A miss is an answer like any other here. */
export async function getDownloadUrl(
  exchange: Exchange,
  within: Namespace,
  { key, version, restoreKeys }: GetCacheEntryDownloadURLRequest,
): Promise<GetCacheEntryDownloadURLResponse> {
  const { store, metrics } = exchange.server;
  const namespace = versionNamespace(within, version);
  if (restoreKeys.length > SERVER.maxRestoreKeys)
    throw new AssayError('ASSAY_BAD_MESSAGE', `there are more than ${SERVER.maxRestoreKeys} restore keys`);
  const found = await store.labels.newest(namespace, restoreKeys, key);
  const artifact = found && (await findArtifact(store, { namespace, key: found.key }));
  metrics.lookedUp('actions', artifact !== undefined);
  if (!artifact) return { ok: false, signedDownloadUrl: '', matchedKey: '' };
  const url = ticketUrl(exchange, `download/${artifact.digest.hash}`);
  return { ok: true, signedDownloadUrl: url, matchedKey: found.label };
}

export async function createEntry(
  exchange: Exchange,
  within: Namespace,
  { key, version }: CreateCacheEntryRequest,
): Promise<CreateCacheEntryResponse> {
  exchange.admitWrite();
  refuseUnfit(key);
  const address = entryAddress(within, version, key);
  const existing = await exchange.server.store.labels.newest(address.namespace, [], key);
  if (existing) throw alreadyThere(key);
  const uploadId = randomBytes(16).toString('hex');
  const url = ticketUrl(exchange, `upload/${pendingAddress(address).key}/${uploadId}`);
  return { ok: true, signedUploadUrl: url };
}

export async function finalizeEntry(
  exchange: Exchange,
  within: Namespace,
  { key, version, sizeBytes }: FinalizeCacheEntryUploadRequest,
): Promise<FinalizeCacheEntryUploadResponse> {
  exchange.admitWrite();
  const { store, lifecycle } = exchange.server;
  const address = entryAddress(within, version, key);
  const uploaded = await findArtifact(store, pendingAddress(address));
  if (!uploaded) throw new AssayError('ASSAY_NOT_FOUND', 'nothing was uploaded for this entry');
  if (uploaded.digest.size !== sizeBytes) throw otherSize(sizeBytes, uploaded.digest.size);
  /** The label first: it leads nowhere without the entry, but an entry without it could be neither found nor written again. */
  await lifecycle.whileWriting(async () => {
    await store.labels.put({ namespace: address.namespace, label: key }, address.key);
    const outcome = await store.results.put(address, encodeArtifact(uploaded));
    if (outcome === 'diverged') throw alreadyThere(key);
  });
  return { ok: true, entryId: Number.parseInt(address.key.slice(0, 12), 16) };
}

function alreadyThere(key: string): AssayError {
  return new AssayError(
    'ASSAY_RECORD_EXISTS',
    `the entry ${JSON.stringify(key.slice(0, 512))} is there already`,
  );
}

function otherSize(announced: number, uploaded: number): AssayError {
  return new AssayError('ASSAY_SIZE_MISMATCH', `${announced} bytes announced, ${uploaded} uploaded`);
}
