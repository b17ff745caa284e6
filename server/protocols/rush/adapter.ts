// Rush's HTTP build cache: /rush/[NAMESPACE/]KEY. A key is a hash, after whatever rush-project's cacheEntryNamePattern
// puts before it. Its credential is sent as it stands: with a scheme before the token, as everywhere, or without.
import type { Exchange } from '../../http/exchange.ts';
import { namespaceAndKey } from '../shared/namespace-and-key.ts';
import { plainAdapter } from '../shared/plain-adapter.ts';

const KEY = /^[0-9A-Za-z_.+@-]{1,255}$/;

export const rush = plainAdapter({
  protocol: 'rush',
  base: '/rush/',
  form: '/rush/[NAMESPACE/]KEY',
  parseKey: (path) => namespaceAndKey(path, KEY),
  authorize,
});

function authorize(exchange: Exchange): void {
  const { authorization } = exchange.request.headers;
  if (authorization === undefined || !exchange.server.tokenCheck.accepts(`Bearer ${authorization}`))
    exchange.authorize();
}
