// The requests of a run besides artifacts: the status of the cache, and events.
import type { Exchange } from '../../http/exchange.ts';
import { answerJson, receiveJson } from '../../http/json.ts';
import { methodNotAllowed } from '../shared/adapter.ts';

export async function status(exchange: Exchange): Promise<void> {
  if (exchange.method !== 'GET') throw methodNotAllowed(exchange);
  answerJson(exchange, { status: 'enabled' });
}

/** Accepts the client's hit and miss events and drops them: the server counts its own. */
export async function acknowledgeEvents(exchange: Exchange): Promise<void> {
  if (exchange.method !== 'POST') throw methodNotAllowed(exchange);
  await receiveJson(exchange);
  answerJson(exchange, {});
}
