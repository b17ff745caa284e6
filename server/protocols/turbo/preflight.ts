// The answer to OPTIONS. With TURBO_PREFLIGHT, Turborepo sends OPTIONS before each request, and drops its
// token unless the answer allows the Authorization header.
//
// The answer allows no origin. If it did, any web page could write to a server without a token on the same
// machine.
import type { Exchange } from '../../http/exchange.ts';

const HEADERS =
  'Authorization, Content-Type, User-Agent, x-artifact-duration, x-artifact-tag, x-artifact-sha';

export function allowAuthorization(exchange: Exchange): void {
  const allowed = [
    'access-control-allow-headers',
    `${HEADERS}, x-artifact-dirty-hash, x-artifact-client-ci, x-artifact-client-interactive`,
    'access-control-allow-methods',
    'GET, HEAD, POST, PUT, OPTIONS',
  ];
  exchange.answer(200, allowed, Buffer.alloc(0));
}
