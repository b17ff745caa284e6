// The headers of Azure Blob Storage that its SDKs need.
// Guarantee: each answer has an id of its own, and a range is honoured in either header.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Headers } from '../../http/error-response.ts';

/** BuildKit reads the id of an upload's answer without a look whether there is one: dockerd crashes without it. */
export function answerHeaders(): Headers {
  return ['x-ms-request-id', randomUUID()];
}

/**
 * The SDKs name the range in `x-ms-range`, which comes first. BuildKit takes an answer without the range for the range, and
 * so does a download that the SDK resumes.
 */
export function rangeHeader({ headers }: IncomingMessage): string | undefined {
  const named = headers['x-ms-range'];
  return typeof named === 'string' ? named : headers.range;
}
