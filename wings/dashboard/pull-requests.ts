// The namespaces of pull requests as one name: each has a namespace of its own, PARENT/pr/NAME.
// Guarantee: that name is no namespace, because of its last character.
import { PULL_REQUESTS } from '../../core/namespace.ts';

/** PARENT/pr/… of a pull request. Any other namespace stays as it is. */
export function withoutNumber(namespace: string): string {
  const parts = namespace.split('/');
  const at = parts.lastIndexOf(PULL_REQUESTS, -2);
  return at === -1 ? namespace : [...parts.slice(0, at + 1), '…'].join('/');
}

/** It is one of a pull request, or shared by several. */
export function isOfPullRequests(namespace: string): boolean {
  return namespace.split('/').includes(PULL_REQUESTS);
}

/** PARENT/pr/NAME of what a request named below it. */
export function pullRequestOf(namespace: string): string {
  const parts = namespace.split('/');
  return parts.slice(0, parts.indexOf(PULL_REQUESTS) + 2).join('/');
}
