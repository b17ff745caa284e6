// Rush's HTTP build cache: /rush/[NAMESPACE/]KEY.
//
// A key is a hash with a prefix, which rush-project's cacheEntryNamePattern defines. Rush sends its
// credential unchanged in Authorization, so the token may come with a scheme or without.
//
// Rush ends with a failure if a PUT gets another status than 2xx. So a denied PUT gets 202, which promises
// nothing, and a header that says that nothing is stored.
import type { Exchange } from '../../http/exchange.ts';
import { namespaceAndKey, plainAdapter } from '../shared/plain-adapter.ts';
import { isRepeatedMiss } from './repeated-misses.ts';

const KEY = /^[0-9A-Za-z_.+@-]{1,255}$/;

export const rush = plainAdapter({
  protocol: 'rush',
  base: '/rush/',
  form: '/rush/[NAMESPACE/]KEY',
  parseKey: (path) => namespaceAndKey(path, KEY),
  authorize,
  deniedPutStatus: 202,
  isRepeatedMiss,
});

function authorize(exchange: Exchange): void {
  const { access } = exchange.server;
  const { authorization } = exchange.request.headers;
  const bare = authorization === undefined ? undefined : access.ofToken(authorization);
  exchange.authorizeAs(bare ?? access.ofHeader(authorization));
}
