// Conditional requests: If-Match and If-None-Match (RFC 9110, 13).
import type { IncomingHttpHeaders } from 'node:http';
import { AssayError } from '../../../core/errors.ts';
import type { ResultOutcome } from '../../../store/store.ts';
import type { Exchange } from '../../http/exchange.ts';

/**
 * `known`: the client already has this content. `failed`: If-Match does not hold. `none`: no condition
 * applies.
 */
type ConditionOutcome = 'known' | 'failed' | 'none';

/** `entityTag`: the tag of the stored content, if there is any. */
export function evaluateConditions(
  headers: IncomingHttpHeaders,
  entityTag: string | undefined,
): ConditionOutcome {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = headers;
  if (ifMatch !== undefined && !names(ifMatch, entityTag, '')) return 'failed';
  if (ifNoneMatch === undefined) return 'none';
  return names(ifNoneMatch, entityTag, 'W/') ? 'known' : 'none';
}

export function preconditionFailed(): AssayError {
  return new AssayError('ASSAY_PRECONDITION_FAILED', 'If-Match or If-None-Match does not hold');
}

/** Checks the conditions of a PUT before its body is read. */
export async function checkPreconditions(
  { request: { headers } }: Exchange,
  entityTag: () => Promise<string | undefined>,
): Promise<void> {
  if (headers['if-match'] === undefined && headers['if-none-match'] === undefined) return;
  if (evaluateConditions(headers, await entityTag()) !== 'none') throw preconditionFailed();
}

/** True for `If-None-Match: *`: the PUT must create the key and not replace it. */
export function isCreateOnly({ request: { headers } }: Exchange): boolean {
  return headers['if-none-match']?.trim() === '*';
}

/** Checks `If-None-Match: *` again after the write: another client may have created the key meanwhile. */
export function checkCreated(exchange: Exchange, outcome: ResultOutcome): void {
  if (isCreateOnly(exchange) && outcome !== 'stored') throw preconditionFailed();
}

/**
 * True if `list` contains the tag or "*". `weak` is "W/" for a weak comparison. If-Match compares strongly.
 */
function names(list: string, entityTag: string | undefined, weak: '' | 'W/'): boolean {
  if (entityTag === undefined) return false;
  return list.split(',').some((tag) => ['*', entityTag, `${weak}${entityTag}`].includes(tag.trim()));
}
