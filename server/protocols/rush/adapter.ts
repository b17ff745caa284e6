// Rush's HTTP build cache: /rush/[NAMESPACE/]KEY.
//
// A key is a hash with a prefix, which rush-project's cacheEntryNamePattern defines. Rush sends its
// credential unchanged in Authorization, so the token may come with a scheme or without.
import type { Exchange } from '../../http/exchange.ts';
import { namespaceAndKey, plainAdapter } from '../shared/plain-adapter.ts';

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
