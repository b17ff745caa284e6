// Gradle's HTTP build cache: /gradle/[NAMESPACE/]KEY. Any answer to a PUT but success ends its remote caching for the
// whole build, so an entry that differs from the one that is kept is no error: it is told in a header, and recorded.
import { namespaceAndKey } from '../shared/namespace-and-key.ts';
import { plainAdapter } from '../shared/plain-adapter.ts';

/** 32 hex digits in all versions so far. */
const KEY = /^[0-9a-f]{32,64}$/;

export const gradle = plainAdapter({
  protocol: 'gradle',
  base: '/gradle/',
  form: '/gradle/[NAMESPACE/]KEY, the key in hex',
  parseKey: (path) => namespaceAndKey(path, KEY),
});
