// Finds the identity of a request by its credential: Bearer, or the password of Basic.
// Guarantee: the server keeps only the hash of its own token, so no log or dump can reveal it.
import { hash, timingSafeEqual } from 'node:crypto';
import { type Identity, type IdentitySource, ROOT } from './identity.ts';

export interface AccessOptions {
  /** The server's own token, which has all rights. */
  readonly token?: string | undefined;
  readonly identities?: IdentitySource | undefined;
  readonly now?: () => number;
}

export interface AccessControl {
  /** True if the server has no tokens: every request has all rights. */
  readonly isOpen: boolean;
  /** `authorization` is the header as the client sent it. Undefined if the request is refused. */
  ofHeader(authorization: string | undefined): Identity | undefined;
  ofToken(token: string): Identity | undefined;
  ofAccessKey(accessKey: string): { identity: Identity; secretKey: string } | undefined;
}

export function accessControl({ token, identities, now = Date.now }: AccessOptions): AccessControl {
  if (token === undefined && !identities) return OPEN;
  const expected = token === undefined ? undefined : fingerprint(token);
  const current = (identity: Identity | undefined) =>
    identity && (identity.expiresAt === undefined || now() < identity.expiresAt) ? identity : undefined;
  const ofToken = (presented: string) => {
    if (expected && timingSafeEqual(fingerprint(presented), expected)) return ROOT;
    return current(identities?.identify(presented));
  };
  return {
    isOpen: false,
    ofToken,
    ofHeader(authorization) {
      if (authorization === undefined) return identities?.anonymous;
      const presented = tokenIn(authorization);
      return presented === undefined ? undefined : ofToken(presented);
    },
    ofAccessKey(accessKey) {
      const found = identities?.identifyAccessKey?.(accessKey);
      return found && current(found.identity) ? found : undefined;
    },
  };
}

const OPEN: AccessControl = {
  isOpen: true,
  ofHeader: () => ROOT,
  ofToken: () => ROOT,
  ofAccessKey: () => undefined,
};

/** Hashes have equal length, so the comparison takes the same time for every token. */
function fingerprint(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

const CREDENTIALS = /^(bearer|basic) +(\S+)$/i;

function tokenIn(authorization: string): string | undefined {
  const [, scheme, credentials] = CREDENTIALS.exec(authorization) ?? [];
  if (scheme === undefined || credentials === undefined) return undefined;
  if (scheme.toLowerCase() === 'bearer') return credentials;
  const userAndPassword = Buffer.from(credentials, 'base64').toString('utf8');
  const colon = userAndPassword.indexOf(':');
  return colon === -1 ? undefined : userAndPassword.slice(colon + 1);
}
