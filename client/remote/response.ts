// Checks the status of an HTTP response and explains a refusal.
import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { RemoteFault, WriteRefused } from './remote.ts';

export type Response = Dispatcher.ResponseData;
export type Body = Uint8Array | Readable;

export async function expectSuccess(response: Response): Promise<Response> {
  if (response.statusCode >= 200 && response.statusCode < 300) return response;
  await response.body.dump();
  throw new RemoteFault(explainStatus(response.statusCode));
}

/**
 * Statuses that refuse only the write: unauthorized, forbidden, wrong method, too large, too many, no space.
 */
const WRITE_REFUSALS: readonly number[] = [401, 403, 405, 413, 429, 507];

/** Those of them that are about the token and not about space. */
const LASTING: readonly number[] = [401, 403, 405];

export async function expectTaken(response: Response): Promise<Response> {
  const { statusCode } = response;
  if (!WRITE_REFUSALS.includes(statusCode)) return expectSuccess(response);
  await response.body.dump();
  throw new WriteRefused(explainRefusal(statusCode), LASTING.includes(statusCode));
}

function explainRefusal(status: number): string {
  if (status === 401 || status === 403)
    return `it answered ${status}: it is read-only, or ASSAY_TOKEN may not write`;
  return explainStatus(status);
}

function explainStatus(status: number): string {
  if (status === 401) return 'it answered 401: set ASSAY_TOKEN to a token that it accepts';
  if (status === 403) return 'it answered 403: ASSAY_TOKEN may not read there';
  if (status === 413) return 'it answered 413: a blob is larger than it accepts';
  if (status === 507) return 'it answered 507: its store or disk is full';
  return `it answered ${status}`;
}
