// The namespace of a request as a client named it, for counts and lists.
import type { Namespace } from '../../core/namespace.ts';

/**
 * GitHub's cache keeps each version of an entry in a namespace of its own (protocols/actions/entry.ts). It is the hash of a
 * text of the client, and no place that somebody named.
 */
const VERSION = /^(~actions(?:\/.*?\/=)??)\/[0-9a-f]{64}(?=\/|$)/;

export function withoutVersion(stored: Namespace): Namespace {
  return stored.startsWith('~actions/')
    ? (stored.replace(VERSION, '$1').replace(/\/=$/, '') as Namespace)
    : stored;
}
