// A large blob on its way to a server that may keep what it has of it: after a broken connection, after the end of an
// earlier run, and after a restart of the server, only the rest is sent. The verbs are those of the IETF's draft; a server
// that knows nothing of them takes the first PUT as any other, and then a break is a fault as before.
import { setTimeout as pause } from 'node:timers/promises';
import type { Digest } from '../../core/digest.ts';
import { REMOTE } from '../limits.ts';
import { type Body, expectTaken, type Response } from './response.ts';

export interface UploadTransport {
  /** The content from there on. */
  read(offset: number): Promise<Body>;
  request(
    method: 'HEAD' | 'PUT' | 'PATCH',
    path: string,
    headers: Record<string, string>,
    upload?: { size: number; body: Body },
  ): Promise<Response>;
  /** The remote is given up: its wait budget is used up, whatever is tried here. */
  isOver(): boolean;
}

/** How many bytes of it the server has, whether it is a blob already, or that another connection is sending it. */
type UploadStatus = number | 'stored' | 'busy';

export async function uploadResumably(digest: Digest, wire: UploadTransport): Promise<void> {
  let stand: UploadStatus = (await queryStatus(digest, wire)) ?? 0;
  for (let fruitless = 1; stand !== 'stored'; fruitless++) {
    if (stand === 'busy') return sendWhole(digest, wire);
    const outcome = await sendFrom(stand, digest, wire);
    if (outcome === 'stored') return;
    if (outcome === 'refused') return sendWhole(digest, wire);
    const after = await statusAfterBreak(digest, wire);
    if (after === undefined) throw outcome.broken;
    if (typeof after === 'number') {
      if (after - stand >= REMOTE.progressBytes) fruitless = 0;
      else if (fruitless > REMOTE.fruitlessAttempts) throw outcome.broken;
    }
    stand = after;
  }
}

/** `refused`: somebody else is at it, or has brought it further. */
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

/** Asked until the server is back and has noticed the break, or the wait budget is used up. */
async function statusAfterBreak(digest: Digest, wire: UploadTransport): Promise<UploadStatus | undefined> {
  for (let busy = 0; ; ) {
    await pause(REMOTE.resumeMs);
    try {
      const stand = await queryStatus(digest, wire);
      if (stand !== 'busy' || ++busy === REMOTE.resumeAsks) return stand;
    } catch (error) {
      if (wire.isOver()) throw error;
    }
  }
}

/** Undefined where there is no such upload, or nobody who would know. */
async function queryStatus({ hash, size }: Digest, wire: UploadTransport): Promise<UploadStatus | undefined> {
  const { statusCode, headers, body } = await wire.request('HEAD', `/uploads/${hash}`, {});
  await body.dump();
  const { 'upload-offset': offset, 'upload-complete': isComplete } = headers;
  if (statusCode === 409) return 'busy';
  if (statusCode < 200 || statusCode > 299 || typeof offset !== 'string') return undefined;
  if (isComplete === '?1') return 'stored';
  const stand = Number(offset);
  return Number.isSafeInteger(stand) && stand >= 0 && stand <= size ? stand : undefined;
}

const COMPLETE = { 'upload-complete': '?1' };

function partFrom(offset: number): Record<string, string> {
  return {
    ...COMPLETE,
    'upload-offset': String(offset),
    'content-type': 'application/partial-upload',
  };
}
