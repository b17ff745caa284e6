// The credentials of a node: renewed before they end, while requests go on.
//
// Invariants:
// R1 At most one renewal runs at a time. All who need it wait for the same one.
// R2 Valid credentials are used while their renewal runs or fails. Only without valid ones does a request wait.
// R3 A renewal that failed is repeated after a pause, and so is one because the bucket refused: neither a source that is
//    away nor a key that lacks a right floods the source.
// R4 Ages are by a monotonic clock of this side, and lengths by the clock of the source: a wrong date changes nothing.
import { AssayError, messageOf } from '../../../../core/errors.ts';
import type { CredentialSource, Credentials } from './credentials.ts';
import { AWS } from './limits.ts';

interface Held {
  readonly credentials: Credentials;
  readonly renewAt: number;
  readonly endsAt: number;
}

/** Told of a renewal that failed, once for each cause, and of the first one after that which did not. */
export type OnRenewal = (source: string, failure: string | undefined) => void;

export class RotatingCredentials {
  readonly #source: CredentialSource;
  readonly #now: () => number;
  readonly #onRenewal: OnRenewal | undefined;
  #held: Held | undefined;
  #renewal: Promise<Credentials> | undefined;
  #replacedAt = Number.NEGATIVE_INFINITY;
  #failure: { readonly error: AssayError; readonly at: number } | undefined;

  constructor(source: CredentialSource, onRenewal?: OnRenewal, now: () => number = () => performance.now()) {
    this.#source = source;
    this.#onRenewal = onRenewal;
    this.#now = now;
  }

  /** At once if there are valid ones. Throws ASSAY_BUCKET_AWAY if there are none to be had. */
  get(): Credentials | Promise<Credentials> {
    const now = this.#now();
    const held = this.#held;
    if (!held || now >= held.endsAt) return this.#renew(AWS.urgentRetryMs);
    if (now >= held.renewAt) this.#renew(AWS.retryMs).catch(() => {});
    return held.credentials;
  }

  /** The bucket has refused these. True if there are others now. */
  async replace(refused: Credentials): Promise<boolean> {
    if (this.#held && this.#held.credentials !== refused) return true;
    const now = this.#now();
    if (!this.#source.isRenewable || now - this.#replacedAt < AWS.replaceMs) return false;
    this.#replacedAt = now;
    try {
      const renewed = await this.#renew(AWS.urgentRetryMs);
      return !areSame(renewed, refused);
    } catch {
      return false;
    }
  }

  #renew(pauseMs: number): Promise<Credentials> {
    if (this.#renewal) return this.#renewal;
    if (this.#failure && this.#now() - this.#failure.at < pauseMs) return Promise.reject(this.#failure.error);
    this.#renewal = this.#read().finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  }

  async #read(): Promise<Credentials> {
    const { name } = this.#source;
    try {
      const { credentials, validMs = Number.POSITIVE_INFINITY, readAgainMs } = await this.#source.read();
      if (!(validMs > 0)) throw new Error('it gave credentials that have ended');
      const now = this.#now();
      const renewInMs = readAgainMs ?? validMs - Math.min(AWS.renewBeforeMs, validMs / 4);
      this.#held = { credentials, renewAt: now + renewInMs, endsAt: now + validMs };
      if (this.#failure) this.#onRenewal?.(name, undefined);
      this.#failure = undefined;
      return credentials;
    } catch (error) {
      const fault = faultOf(name, error);
      const isKnown = this.#failure?.error.detail === fault.detail;
      this.#failure = { error: fault, at: this.#now() };
      if (!isKnown) this.#onRenewal?.(name, fault.detail);
      throw fault;
    }
  }
}

function areSame(one: Credentials, other: Credentials): boolean {
  return (
    one.accessKey === other.accessKey &&
    one.secretKey() === other.secretKey() &&
    one.sessionToken?.() === other.sessionToken?.()
  );
}

function faultOf(name: string, error: unknown): AssayError {
  if (error instanceof AssayError) return error;
  return new AssayError('ASSAY_BUCKET_AWAY', `no credentials from ${name}: ${messageOf(error)}`);
}
