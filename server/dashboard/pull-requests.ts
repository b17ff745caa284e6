// The namespaces of pull requests as one name: each has a namespace of its own, PARENT/pr/NAME.
// Guarantee: that name is no namespace, because of its last character.
import { PULL_REQUESTS } from '../../core/namespace.ts';

/** PARENT/pr/… of a pull request. Any other namespace stays as it is. */
export function withoutNumber(namespace: string): string {
  const parts = namespace.split('/');
  const at = parts.lastIndexOf(PULL_REQUESTS, -2);
  return at === -1 ? namespace : [...parts.slice(0, at + 1), '…'].join('/');
}
