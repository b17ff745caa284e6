// ActionCache: GetActionResult and UpdateActionResult. A result is sent as the bytes that were stored.
// The store accepts and serves a result only if it has every blob that the result references.
import { AssayError } from '../../../core/errors.ts';
import { rawMessages } from '../../../core/message.ts';
import { UpdateActionResultRequest } from '../../../core/proto/generated/reapi-services.ts';
import { UPDATE_ACTION_RESULT } from '../../../core/request-shapes.ts';
import { type Call, usualRefusal } from '../../grpc/call.ts';
import { singleRequest } from '../../grpc/method.ts';
import { asksForContent, withContent } from './inline.ts';
import { digestIn, instanceOf } from './instance.ts';
import { withOrigin } from './origin.ts';
import { readResultQuery } from './result-query.ts';

const MISS = usualRefusal(new AssayError('ASSAY_NOT_FOUND', 'there is no result for that action'));

/** The field number of UpdateActionResultRequest.action_result. */
const RESULT_FIELD = 3;

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
export const updateActionResult = singleRequest(
  UpdateActionResultRequest,
  UPDATE_ACTION_RESULT,
  async (request, call, message) => {
    const {
      store,
      server: { lifecycle },
    } = call;
    const address = { namespace: instanceOf(request), key: digestIn(request.actionDigest).hash };
    const [sent] = rawMessages(message, RESULT_FIELD);
    if (!sent || !request.actionResult)
      throw new AssayError('ASSAY_MESSAGE_MALFORMED', 'the request has no result');
    const result = withOrigin(call, sent, request.actionResult);
    const outcome = await lifecycle.whileWriting(() => store.results.put(address, result));
    call.answer(sent, ['assay-outcome', outcome]);
  },
);
