// What an HTTP remote answers, and in which words a refusal is told.
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

/** May not, must not, no such verb, too large, too many, no room: all of these are about writing alone. */
const WRITE_REFUSALS: readonly number[] = [401, 403, 405, 413, 429, 507];

/** Of these, what is about who asks, not about what there is room for now. */
const LASTING: readonly number[] = [401, 403, 405];

export async function expectTaken(response: Response): Promise<Response> {
  const { statusCode } = response;
  if (!WRITE_REFUSALS.includes(statusCode)) return expectSuccess(response);
  await response.body.dump();
  throw new WriteRefused(explainRefusal(statusCode), LASTING.includes(statusCode));
}

function explainRefusal(status: number): string {
  if (status === 401 || status === 403)
    return `it answered ${status}: it is read-only, or ASSAY_TOKEN is none that may write`;
  return explainStatus(status);
}

function explainStatus(status: number): string {
  if (status === 401 || status === 403)
    return `it answered ${status}: set ASSAY_TOKEN to a token that it takes`;
  if (status === 413) return 'it answered 413: something is larger than it takes';
  if (status === 507) return 'it answered 507: its store or disk is full';
  return `it answered ${status}`;
}
