// /ac: the result of an action by the action's hash, within a namespace. It is bytes of an ActionResult both ways, or, as
// moon asks for it, the same in JSON; what it names is looked at by the store, which neither takes nor serves a result
// with something missing.
import { accompanied } from '../../../core/company.ts';
import type { ResultAddress } from '../../../store/store.ts';
import type { Exchange } from '../../exchange.ts';
import { receiveWhole } from '../../upload.ts';
import { resultFromJson, resultToJson } from '../moon/result-json.ts';
import { companyFor } from './company.ts';

const DESCRIPTION = ['content-type', 'application/x-protobuf', 'cache-control', 'no-cache'];
const JSON_DESCRIPTION = ['content-type', 'application/json', 'cache-control', 'no-cache'];

export async function getResult(exchange: Exchange, address: ResultAddress): Promise<void> {
  const { store, metrics } = exchange.server;
  const result = await store.results.get(address);
  metrics.lookedUp('ac', result !== undefined);
  if (!result) return exchange.answerMiss();
  if (isJson(exchange.request.headers.accept))
    return exchange.answerContent(200, JSON_DESCRIPTION, resultToJson(result.bytes));
  const company = await companyFor(exchange, result.bytes);
  exchange.answerContent(200, DESCRIPTION, accompanied({ result: result.bytes, company }));
}

/** A result that differs from the one already kept is no failure of the build that sends it: it is told in a header. */
export async function putResult(exchange: Exchange, address: ResultAddress): Promise<void> {
  const { store, limits, lifecycle } = exchange.server;
  const sent = await receiveWhole(exchange, limits.maxResultBytes);
  const bytes = isJson(exchange.request.headers['content-type']) ? resultFromJson(sent) : sent;
  const outcome = await lifecycle.whileWriting(() => store.results.put(address, bytes));
  exchange.answerStored(['assay-outcome', outcome]);
}

function isJson(mediaType: string | undefined): boolean {
  return mediaType?.startsWith('application/json') ?? false;
}
