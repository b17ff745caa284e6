// JSON bodies of requests and responses.
import { AssayError } from '../../core/errors.ts';
import type { Headers } from './error-response.ts';
import type { Exchange } from './exchange.ts';
import { receiveWhole } from './upload.ts';

export function answerJson(exchange: Exchange, value: object, status = 200, headers: Headers = []): void {
  const body = Buffer.from(`${JSON.stringify(value)}\n`);
  exchange.answer(status, ['content-type', 'application/json', ...headers], body);
}

/** Parses the body. The caller checks the fields that it needs. */
export async function receiveJson(exchange: Exchange): Promise<unknown> {
  const bytes = await receiveWhole(exchange, exchange.server.limits.maxMessageBytes);
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new AssayError('ASSAY_BAD_MESSAGE', 'the body is not JSON');
  }
}

/** The first of these fields that the value has, if it is an object. */
export function fieldOf(value: unknown, ...names: readonly string[]): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  const name = names.find((one) => Object.hasOwn(value, one));
  return name === undefined ? undefined : Reflect.get(value, name);
}
