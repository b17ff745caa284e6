// What a run asks and tells beside its artifacts.
import type { Exchange } from '../../http/exchange.ts';
import { answerJson, receiveJson } from '../../http/json.ts';
import { methodNotAllowed } from '../shared/adapter.ts';

export async function status(exchange: Exchange): Promise<void> {
  if (exchange.method !== 'GET') throw methodNotAllowed(exchange);
  answerJson(exchange, { status: 'enabled' });
}

/** What was a hit is counted where it is served; which hits a client had of its own is nothing to keep. */
export async function acknowledgeEvents(exchange: Exchange): Promise<void> {
  if (exchange.method !== 'POST') throw methodNotAllowed(exchange);
  await receiveJson(exchange);
  answerJson(exchange, {});
}
