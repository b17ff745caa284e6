// Short tokens: what a server gives for a token of a CI's issuer. A short token is ID.SECRET. The ID holds the
// identity in base64url. The secret is the HMAC-SHA256 of the ID under the store's key (auth-key.ts).
//
// Guarantees:
// - Only a holder of the key can make one, or change what it says.
// - It ends at its time, checked at each use. The server keeps no list of them (decision 0282).
// - The ID has no character that S3's Authorization header treats specially, so ID and secret are also a pair
//   of S3 keys.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { AssayError } from '../../core/errors.ts';
import { type Namespace, parseNamespace } from '../../core/namespace.ts';
import { unwrapJwt } from '../../core/tokens/jwt.ts';
import { ACCESS } from '../limits.ts';
import type { AuthKey } from './auth-key.ts';
import type { Identity, IdentitySource } from './identity.ts';
import { parseRights, type Right } from './rights.ts';

/** The number changes with the form of the claims: a server refuses a form that it does not know. */
const PREFIX = 'assay1-';

const ID = /^assay1-[0-9A-Za-z_-]+$/;

export interface ShortToken {
  /** The bearer token: the access key, ".", the secret key. */
  readonly token: string;
  readonly accessKey: string;
  readonly secretKey: string;
}

/** An identity that ends. */
export interface ShortIdentity extends Identity {
  readonly expiresAt: number;
  /** The SHA-256 of the token that it was exchanged for, if that can be revoked. The caller checks it. */
  readonly parent?: string | undefined;
}

export class ShortTokens implements IdentitySource {
  readonly #key: AuthKey;
  readonly #now: () => number;

  constructor(key: AuthKey, now: () => number = Date.now) {
    this.#key = key;
    this.#now = now;
  }

  issue(identity: ShortIdentity): ShortToken {
    const accessKey = PREFIX + encodeClaims(identity, this.#now());
    const secretKey = this.#secretOf(accessKey).toString('base64url');
    const token = `${accessKey}.${secretKey}`;
    if (token.length > ACCESS.maxShortTokenLength)
      throw new AssayError('ASSAY_TOKEN_REFUSED', 'it reads too many namespaces for a short token');
    return { token, accessKey, secretKey };
  }

  /** Also in the form of a JWT, of which the third part is read, and nothing else. */
  identify(text: string): ShortIdentity | undefined {
    if (text.length > ACCESS.maxWrappedTokenLength) return undefined;
    const token = text.startsWith(PREFIX) ? text : unwrapJwt(text);
    if (!token?.startsWith(PREFIX) || token.length > ACCESS.maxShortTokenLength) return undefined;
    const dot = token.indexOf('.');
    const accessKey = token.slice(0, Math.max(dot, 0));
    const presented = Buffer.from(token.slice(dot + 1), 'base64url');
    const secret = this.#secretOf(accessKey);
    // Base64url has several spellings of the same bytes. Only the one that was issued counts.
    const isSpelledAsIssued = token === `${accessKey}.${presented.toString('base64url')}`;
    if (!isSpelledAsIssued || presented.length !== secret.length || !timingSafeEqual(presented, secret))
      return undefined;
    const identity = decodeClaims(accessKey);
    return identity && this.#whileValid(identity);
  }

  /** The caller checks that the request is signed with the secret key before it uses the identity. */
  identifyAccessKey(accessKey: string): { identity: ShortIdentity; secretKey: string } | undefined {
    if (accessKey.length > ACCESS.maxShortTokenLength) return undefined;
    const claimed = decodeClaims(accessKey);
    const identity = claimed && this.#whileValid(claimed);
    return identity && { identity, secretKey: this.#secretOf(accessKey).toString('base64url') };
  }

  #secretOf(accessKey: string): Buffer {
    return createHmac('sha256', this.#key()).update(accessKey).digest();
  }

  #whileValid(identity: ShortIdentity): ShortIdentity | undefined {
    return this.#now() < identity.expiresAt ? identity : undefined;
  }
}

/** A list, because names of fields would make each request longer. Times are in seconds. */
function encodeClaims(identity: ShortIdentity, now: number): string {
  const { name, namespace, reads, rights, expiresAt, parent } = identity;
  const times = [expiresAt / 1000, Math.floor(now / 1000)];
  const claims = [name, namespace, reads, [...rights].join(), ...times, ...(parent ? [parent] : [])];
  return Buffer.from(JSON.stringify(claims)).toString('base64url');
}

function decodeClaims(accessKey: string): ShortIdentity | undefined {
  if (!ID.test(accessKey)) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(accessKey.slice(PREFIX.length), 'base64url').toString());
    if (!Array.isArray(claims)) return undefined;
    const [name, namespace, reads, rights, expires, , parent]: unknown[] = claims;
    const isWhole = typeof name === 'string' && Array.isArray(reads) && typeof expires === 'number';
    const allRights = rightsIn(rights);
    if (!isWhole || !allRights) return undefined;
    return {
      name,
      namespace: namespaceIn(namespace),
      reads: reads.map(namespaceIn),
      rights: allRights,
      expiresAt: expires * 1000,
      ...(parent !== undefined && { parent: String(parent) }),
    };
  } catch {
    return undefined;
  }
}

function rightsIn(value: unknown): ReadonlySet<Right> | undefined {
  return typeof value === 'string' ? parseRights(value) : undefined;
}

function namespaceIn(value: unknown): Namespace {
  return parseNamespace(String(value));
}
