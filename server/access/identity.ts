// Identity: who sends a request, and what that one may do.
//
// The identity comes from the credential alone. A request can narrow what is read, and nothing else.
import { DEFAULT_NAMESPACE, type Namespace } from '../../core/namespace.ts';
import { ALL_RIGHTS, type Right } from './rights.ts';

export interface Identity {
  /** In the log and with each result that it writes: the name of a token, or what an issuer's claims say. */
  readonly name: string;
  readonly rights: ReadonlySet<Right>;
  /** Everything it writes goes here or below. The empty namespace is the whole server. */
  readonly namespace: Namespace;
  /** What it reads after its own namespace, in this order. The ancestors of its namespace follow. */
  readonly reads: readonly Namespace[];
  /** In milliseconds since 1970. Undefined if it does not end. */
  readonly expiresAt?: number | undefined;
}

/** Finds the identity of a credential. */
export interface IdentitySource {
  /** `token` is the bare text: without "Bearer", and of Basic the password. Undefined if nobody has it. */
  identify(token: string): Identity | undefined;
  /** The same by the SHA-256 of the token in hex, for a source that keeps only that. */
  identifyHash?(sha256: string): Identity | undefined;
  /**
   * Another number, never an earlier one, as soon as an answer of `identify` changes for another reason than
   * the expiry of its identity. Undefined if the source can't tell: then no answer is remembered.
   */
  readonly version?: number | undefined;
  /** Every token that it keeps a record of, for an admin. */
  listed?(): readonly Identity[];
  /** The identity of a request without a credential. Undefined if such requests are refused. It may change. */
  readonly anonymous?: Identity | undefined;
  /** Of S3's access key, with the secret key that its requests are signed with. */
  identifyAccessKey?(accessKey: string): { identity: Identity; secretKey: string } | undefined;
}

let lastVersion = 0;

/** A version that no source has had before. */
export function nextVersion(): number {
  lastVersion++;
  return lastVersion;
}

/** Of the server's single token, and of every request to a server without tokens. */
export const ROOT_IDENTITY: Identity = {
  name: 'root',
  rights: ALL_RIGHTS,
  namespace: DEFAULT_NAMESPACE,
  reads: [],
};

/** What the server tells about itself is about all tenants: the size of the store tells whether one of them has a blob. */
export function seesWholeServer({ rights }: Identity): boolean {
  return rights.has('server:stats');
}
