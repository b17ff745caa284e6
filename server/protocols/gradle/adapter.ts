// Gradle's HTTP build cache: /gradle/[NAMESPACE/]KEY.
//
// Gradle turns its remote cache off for the rest of the build if a PUT fails. So a PUT with other content
// succeeds: the first content stays, and the difference is recorded and named in a header. A denied PUT gets
// 202, which promises nothing: the tasks after it can still hit.
import { namespaceAndKey, plainAdapter } from '../shared/plain-adapter.ts';

/** All versions of Gradle so far use 32 hex digits. */
const KEY = /^[0-9a-f]{32,64}$/;

export const gradle = plainAdapter({
  protocol: 'gradle',
  base: '/gradle/',
  form: '/gradle/[NAMESPACE/]KEY, the key in hex',
  parseKey: (path) => namespaceAndKey(path, KEY),
  deniedPutStatus: 202,
});
