// Rush's HTTP build cache: /rush/[NAMESPACE/]KEY. A key is a hash, after whatever rush-project's cacheEntryNamePattern
// puts before it.
import { keyedPath } from '../keyed-path.ts';
import { plainAdapter } from '../plain-adapter.ts';

const KEY = /^[0-9A-Za-z_.+@-]{1,255}$/;

export const rush = plainAdapter({
  protocol: 'rush',
  base: '/rush/',
  form: '/rush/[NAMESPACE/]KEY',
  keyIn: (path) => keyedPath(path, KEY),
});
