// /ac: the result of an action by the action's hash, within a namespace. It is bytes of an ActionResult both ways; what
// they name is looked at by the store, which neither takes nor serves a result with something missing.
import type { ResultAddress } from '../../../store/store.ts';
import type { Exchange } from '../../exchange.ts';
import { receiveWhole } from '../../upload.ts';

const DESCRIPTION = ['content-type', 'application/x-protobuf', 'cache-control', 'no-cache'];

export async function getResult(exchange: Exchange, address: ResultAddress): Promise<void> {
  const { store, metrics } = exchange.server;
  const result = await store.results.get(address);
  metrics.lookedUp('ac', result !== undefined);
  if (!result) return exchange.answerMiss();
  exchange.answerContent(200, DESCRIPTION, result.bytes);
}

/** A result that differs from the one already kept is no failure of the build that sends it: it is told in a header. */
export async function putResult(exchange: Exchange, address: ResultAddress): Promise<void> {
  const { store, limits, lifecycle } = exchange.server;
  const bytes = await receiveWhole(exchange, limits.maxResultBytes);
  const outcome = await lifecycle.whileWriting(() => store.results.put(address, bytes));
  exchange.answerStored(['assay-outcome', outcome]);
}
