// Resumable upload of a large blob by the IETF draft for resumable uploads. After a broken connection, an
// earlier run or a server restart, only the rest is sent. A server without the protocol accepts the first PUT
// as usual; then a broken connection is a fault.
import { setTimeout as pause } from 'node:timers/promises';
import type { Digest } from '../../core/digest.ts';
import { REMOTE } from '../limits.ts';
import { type Body, expectTaken, type Response } from './response.ts';

interface UploadTransport {
  /** The content from `offset` on. */
  read(offset: number): Promise<Body>;
  request(
    method: 'HEAD' | 'PUT' | 'PATCH',
    path: string,
    headers: Record<string, string>,
    upload?: { size: number; body: Body },
  ): Promise<Response>;
  /** The remote was given up because its wait budget is used up. */
  isOver(): boolean;
}

/**
 * The number of bytes on the server, or that the blob is complete, or that another connection is uploading
 * it.
 */
type UploadStatus = number | 'stored' | 'busy';

export async function uploadResumably(digest: Digest, wire: UploadTransport): Promise<void> {
  let status: UploadStatus = (await queryStatus(digest, wire)) ?? 0;
  for (let fruitless = 1; status !== 'stored'; fruitless++) {
    if (status === 'busy') return sendWhole(digest, wire);
    const outcome = await sendFrom(status, digest, wire);
    if (outcome === 'stored') return;
    if (outcome === 'refused') return sendWhole(digest, wire);
    const after = await statusAfterBreak(digest, wire);
    if (after === undefined) throw outcome.broken;
    if (typeof after === 'number') {
      if (after - status >= REMOTE.progressBytes) fruitless = 0;
      else if (fruitless > REMOTE.fruitlessAttempts) throw outcome.broken;
    }
    status = after;
  }
}

/** `refused`: another connection is uploading the blob, or has sent more of it. */
async function sendFrom(
  offset: number,
  { hash, size }: Digest,
  wire: UploadTransport,
): Promise<'stored' | 'refused' | { broken: unknown }> {
  const rest = { size: size - offset, body: await wire.read(offset) };
  let response: Response;
  try {
    response =
      offset === 0
        ? await wire.request('PUT', `/cas/${hash}`, COMPLETE, rest)
        : await wire.request('PATCH', `/uploads/${hash}`, partFrom(offset), rest);
  } catch (broken) {
    if (wire.isOver()) throw broken;
    return { broken };
  }
  await response.body.dump();
  if (response.statusCode === 409 || response.statusCode === 404) return 'refused';
  await expectTaken(response);
  return 'stored';
}

async function sendWhole({ hash, size }: Digest, wire: UploadTransport): Promise<void> {
  const response = await wire.request('PUT', `/cas/${hash}`, {}, { size, body: await wire.read(0) });
  await (await expectTaken(response)).body.dump();
}

/** Polls until the server is back and has noticed the break, or the wait budget is used up. */
async function statusAfterBreak(digest: Digest, wire: UploadTransport): Promise<UploadStatus | undefined> {
  for (let busy = 0; ; ) {
    await pause(REMOTE.resumeMs);
    try {
      const status = await queryStatus(digest, wire);
      if (status !== 'busy' || ++busy === REMOTE.resumeAsks) return status;
    } catch (error) {
      if (wire.isOver()) throw error;
    }
  }
}

/** Undefined if the server knows no such upload, or does not support resuming. */
async function queryStatus({ hash, size }: Digest, wire: UploadTransport): Promise<UploadStatus | undefined> {
  const { statusCode, headers, body } = await wire.request('HEAD', `/uploads/${hash}`, {});
  await body.dump();
  const { 'upload-offset': offset, 'upload-complete': isComplete } = headers;
  if (statusCode === 409) return 'busy';
  if (statusCode < 200 || statusCode > 299 || typeof offset !== 'string') return undefined;
  if (isComplete === '?1') return 'stored';
  const status = Number(offset);
  return Number.isSafeInteger(status) && status >= 0 && status <= size ? status : undefined;
}

const COMPLETE = { 'upload-complete': '?1' };

function partFrom(offset: number): Record<string, string> {
  return {
    ...COMPLETE,
    'upload-offset': String(offset),
    'content-type': 'application/partial-upload',
  };
}
