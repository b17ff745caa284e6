// Twirp: one POST for each call, with the message as JSON or protobuf. The response has the same form.
import { AssayError } from '../../../core/errors.ts';
import { decodeStrict } from '../../../core/message.ts';
import type { ErrorFormat } from '../../http/error-response.ts';
import type { Exchange } from '../../http/exchange.ts';
import { answerJson, receiveJson } from '../../http/json.ts';
import { receiveWhole } from '../../http/upload.ts';

export interface TwirpCall<Request, Response> {
  readonly request: { decode(bytes: Uint8Array): Request };
  readonly response: { encode(message: Response): { finish(): Uint8Array } };
  readJson(json: unknown): Request;
  writeJson(response: Response): object;
}

export async function answerCall<Request, Response>(
  exchange: Exchange,
  call: TwirpCall<Request, Response>,
  perform: (request: Request) => Promise<Response>,
): Promise<void> {
  if (isProtobuf(exchange)) {
    const answer = call.response.encode(await perform(await receiveMessage(exchange, call.request))).finish();
    exchange.answer(200, ['content-type', 'application/protobuf'], Buffer.from(answer));
  } else {
    answerJson(exchange, call.writeJson(await perform(call.readJson(await receiveJson(exchange)))));
  }
}

async function receiveMessage<T>(exchange: Exchange, type: TwirpCall<T, never>['request']): Promise<T> {
  const bytes = await receiveWhole(exchange, exchange.server.limits.maxMessageBytes);
  return decodeStrict(type, {}, bytes, 'the body is not the message of this call', 'ASSAY_BAD_MESSAGE');
}

/**
 * Other content types are refused, also because a browser may send some of them across origins without a
 * preflight.
 */
function isProtobuf({ request: { headers } }: Exchange): boolean {
  const type = headers['content-type'] ?? '';
  if (type.startsWith('application/protobuf')) return true;
  if (type.startsWith('application/json')) return false;
  throw new AssayError('ASSAY_BAD_MESSAGE', 'Content-Type must be application/json or application/protobuf');
}

const CODES: Readonly<Record<number, string>> = {
  400: 'invalid_argument',
  401: 'unauthenticated',
  403: 'permission_denied',
  404: 'not_found',
  408: 'deadline_exceeded',
  409: 'already_exists',
  412: 'failed_precondition',
  413: 'resource_exhausted',
  415: 'invalid_argument',
  503: 'unavailable',
  507: 'resource_exhausted',
};

/** Twirp's error codes. The code of the catalogue is in `meta`. */
export const TWIRP_ERRORS: ErrorFormat = {
  type: 'application/json',
  methods: 'GET, HEAD, POST, PUT',
  body: ({ code, entry }, msg) =>
    JSON.stringify({ code: CODES[entry.status] ?? 'internal', msg, meta: { code, way_out: entry.hint } }),
};
