// If-Match and If-None-Match (RFC 9110, 13): a request is for the content that its client knows, or for none that it knows.
import type { IncomingHttpHeaders } from 'node:http';
import { AssayError } from '../../../core/errors.ts';
import type { ResultOutcome } from '../../../store/store.ts';
import type { Exchange } from '../../http/exchange.ts';

/** `known`: the client has this content already. */
export type ConditionOutcome = 'known' | 'failed' | 'none';

/** `entityTag` is that of the content that is there, if there is any. */
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
  return new AssayError('ASSAY_PRECONDITION_FAILED', 'If-Match or If-None-Match does not hold here');
}

/** Before the body is asked for: a write that is only for another content than what is there is refused. */
export async function checkPreconditions(
  { request: { headers } }: Exchange,
  entityTag: () => Promise<string | undefined>,
): Promise<void> {
  if (headers['if-match'] === undefined && headers['if-none-match'] === undefined) return;
  if (evaluateConditions(headers, await entityTag()) !== 'none') throw preconditionFailed();
}

/** `If-None-Match: *`: the write is only for a key that is free. */
export function isCreateOnly({ request: { headers } }: Exchange): boolean {
  return headers['if-none-match']?.trim() === '*';
}

/** Somebody else may have taken the key meanwhile. */
export function checkCreated(exchange: Exchange, outcome: ResultOutcome): void {
  if (isCreateOnly(exchange) && outcome !== 'stored') throw preconditionFailed();
}

/** `weak` is what may stand before a tag that is compared weakly: If-Match takes no such tag. */
function names(list: string, entityTag: string | undefined, weak: '' | 'W/'): boolean {
  if (entityTag === undefined) return false;
  return list.split(',').some((tag) => ['*', entityTag, `${weak}${entityTag}`].includes(tag.trim()));
}
