// A memo of credentials that were found valid: a build sends the same one with each request, and its SHA-256
// or HMAC is a tenth of a small request (decision 0350).
//
// Guarantees:
// - A revoked or changed credential is forgotten with the version of its source, before the next lookup.
// - It holds only what was found valid, a bounded number of a bounded length. The caller checks the expiry.
// - A lookup tells nothing about another client's credential: V8 finds the text by a hash with a random seed,
//   and compares only texts of equal hash.
//
// The texts are secrets. They stay in the memory of the process, as those of a request in progress do; a dump
// of the heap shows them. No log, page or error does.
import { BoundedMap } from '../../store/shared/bounded-map.ts';
import { ACCESS } from '../limits.ts';
import type { Identity } from './identity.ts';

export class CredentialMemo {
  readonly #known = new BoundedMap<string, Identity>(ACCESS.maxKnownCredentials);
  #version: number | undefined;

  /** `version`: of the source that `find` asks. Undefined if its answers must not be remembered. */
  identify(
    credential: string,
    version: number | undefined,
    find: (credential: string) => Identity | undefined,
  ): Identity | undefined {
    if (version !== this.#version) this.#known.clear();
    this.#version = version;
    const known = this.#known.get(credential);
    if (known) return known;
    const identity = find(credential);
    if (identity && version !== undefined && credential.length <= ACCESS.maxKnownCredentialLength)
      this.#known.set(credential, identity);
    return identity;
  }

  forget(credential: string): void {
    this.#known.delete(credential);
  }
}
