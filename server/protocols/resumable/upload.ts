// The four operations of a resumable upload: begin, continue, status and cancel.
// At most one connection at a time sends an upload.
import type { Hash } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import type { Namespace } from '../../../core/namespace.ts';
import type { UploadStatus, Uploads } from '../../../store/store.ts';
import type { Headers } from '../../http/error-response.ts';
import type { Exchange } from '../../http/exchange.ts';
import { announcedSize, receiveStream } from '../../http/upload.ts';
import { receiveBlob } from '../shared/receive-blob.ts';

export interface UploadAddress {
  readonly namespace: Namespace;
  readonly hash: Hash;
}

/** The scoped ids of uploads that a connection is sending now, by the whole store's uploads. */
const sending = new WeakMap<Uploads, Set<string>>();

/**
 * Begins an upload. If another connection sends the same blob, or left a part of it, a complete body is
 * stored as a plain PUT.
 */
export async function beginUpload(exchange: Exchange, address: UploadAddress): Promise<void> {
  const isComplete = completeIn(exchange);
  if (!isComplete || !isSending(exchange, address)) {
    const isBegun = await exclusively(exchange, address, async () => {
      if (await unfinished(exchange, address)) return false;
      await receivePart(exchange, address, 0, isComplete, 201);
      return true;
    });
    if (isBegun) return;
  }
  if (!isComplete) throw conflict('begun already');
  await receiveBlob(exchange, address.hash);
  exchange.answerStored([]);
}

export async function continueUpload(exchange: Exchange, address: UploadAddress): Promise<void> {
  const offset = offsetIn(exchange);
  const isComplete = completeIn(exchange);
  await exclusively(exchange, address, async () => {
    const status = await statusOf(exchange, address);
    if (!status) return exchange.answerMiss();
    if (status.isFinished) return exchange.answer(200, uploadHeaders(address, status), Buffer.alloc(0));
    if (status.committed === offset) return receivePart(exchange, address, offset, isComplete, 204);
    exchange.answerError(conflict(`at ${status.committed}`), uploadHeaders(address, status));
  });
}

export async function answerStatus(exchange: Exchange, address: UploadAddress): Promise<void> {
  if (isSending(exchange, address)) throw conflict('being sent by another connection');
  const status = await statusOf(exchange, address);
  if (!status) return exchange.answerMiss();
  exchange.begin(204, [...uploadHeaders(address, status), 'cache-control', 'no-store']);
  exchange.end();
}

export async function cancelUpload(exchange: Exchange, address: UploadAddress): Promise<void> {
  const {
    store,
    server: { lifecycle },
  } = exchange;
  await lifecycle.whileWriting(() => store.uploads.cancel(idOf(address)));
  exchange.begin(204, []);
  exchange.end();
}

async function receivePart(
  exchange: Exchange,
  address: UploadAddress,
  offset: number,
  isLast: boolean,
  unfinishedStatus: number,
): Promise<void> {
  const { store } = exchange;
  const { limits, lifecycle } = exchange.server;
  const content = receiveStream(exchange, limits.maxBlobBytes - offset);
  const length = announcedSize(exchange.request);
  const part = { expected: { hash: address.hash }, offset, content, length, isLast };
  const status = await lifecycle.whileWriting(() => store.uploads.append(idOf(address), part));
  exchange.answer(
    status.isFinished ? 200 : unfinishedStatus,
    uploadHeaders(address, status),
    Buffer.alloc(0),
  );
}

/** Runs `work` while no other connection can send this upload. */
async function exclusively<T>(
  exchange: Exchange,
  address: UploadAddress,
  work: () => Promise<T>,
): Promise<T> {
  if (isSending(exchange, address)) throw conflict('being sent by another connection');
  const { uploads } = exchange.store;
  const ids = sendingOf(uploads.whole);
  const id = uploads.scoped(idOf(address));
  ids.add(id);
  try {
    return await work();
  } finally {
    ids.delete(id);
  }
}

/** The status of an upload. A finished upload is a blob: the store has no other record of it. */
async function statusOf(exchange: Exchange, address: UploadAddress): Promise<UploadStatus | undefined> {
  const status = await unfinished(exchange, address);
  if (status) return status;
  const blob = await exchange.store.blobs.get(address.hash);
  return blob && { committed: blob.size, isFinished: true };
}

function unfinished(exchange: Exchange, address: UploadAddress): Promise<UploadStatus | undefined> {
  return exchange.store.uploads.status(idOf(address));
}

function uploadHeaders({ namespace, hash }: UploadAddress, { committed, isFinished }: UploadStatus): Headers {
  const prefix = namespace === '' ? '' : `/${namespace}`;
  return [
    'location',
    `${prefix}/uploads/${hash}`,
    'upload-offset',
    String(committed),
    'upload-complete',
    isFinished ? '?1' : '?0',
  ];
}

/** The id in the store. The prefix keeps it apart from the uploads of other protocols. */
function idOf({ namespace, hash }: UploadAddress): string {
  return `http ${namespace} ${hash}`;
}

function isSending({ store: { uploads } }: Exchange, address: UploadAddress): boolean {
  return sendingOf(uploads.whole).has(uploads.scoped(idOf(address)));
}

function sendingOf(uploads: Uploads): Set<string> {
  const known = sending.get(uploads) ?? new Set();
  sending.set(uploads, known);
  return known;
}

function completeIn({ request }: Exchange): boolean {
  const value = request.headers['upload-complete'];
  if (value === '?1') return true;
  if (value === '?0') return false;
  throw new AssayError(
    'ASSAY_BAD_REQUEST',
    'Upload-Complete must be ?1 for the last part, and ?0 for others',
  );
}

function offsetIn({ request }: Exchange): number {
  const value = request.headers['upload-offset'];
  if (typeof value === 'string' && /^\d{1,15}$/.test(value)) return Number(value);
  throw new AssayError('ASSAY_BAD_REQUEST', 'Upload-Offset must be the offset of the part');
}

function conflict(how: string): AssayError {
  return new AssayError('ASSAY_UPLOAD_CONFLICT', `the upload is ${how}`);
}
