// ActionCache: GetActionResult and UpdateActionResult. A result is sent as the bytes that were stored.
// The store accepts and serves a result only if it has every blob that the result references.
import { AssayError } from '../../../core/errors.ts';
import { type Call, usualRefusal } from '../../grpc/call.ts';
import { asksForContent, withContent } from './inline.ts';
import { instanceOf } from './instance.ts';
import { withOrigin } from './origin.ts';
import { readResultQuery, readResultUpdate } from './result-requests.ts';

const MISS = usualRefusal(new AssayError('ASSAY_NOT_FOUND', 'there is no result for that action'));

export async function getActionResult(call: Call): Promise<void> {
  const { store } = call;
  const { metrics, limits } = call.server;
  const query = readResultQuery(await call.message());
  const address = { namespace: instanceOf(query), key: query.action.hash };
  const result = await store.results.get(address);
  call.lookedUp('ac', 'grpc', result !== undefined, address);
  if (!result) {
    call.refuse(MISS);
    return;
  }
  const bytes =
    asksForContent(query) && store.identity.rights.has('blobs:read')
      ? await withContent(result.bytes, query, store.blobs, limits.maxInlineBytes)
      : result.bytes;
  metrics.sent(bytes.length);
  call.answer(bytes);
}

/**
 * An update with a different result succeeds, to not fail the build. The header `assay-outcome` names the
 * outcome.
 */
export async function updateActionResult(call: Call): Promise<void> {
  const { store } = call;
  const update = readResultUpdate(await call.message());
  const address = { namespace: instanceOf(update), key: update.action.hash };
  const result = withOrigin(call, update.result);
  const outcome = await call.server.lifecycle.whileWriting(() => store.results.put(address, result));
  call.answer(update.result, ['assay-outcome', outcome]);
}
