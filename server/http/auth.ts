// The token check: a client presents the server's token as Bearer or as the password of Basic.
// Guarantee: the server keeps only the token's hash, so no log or dump can reveal it.
import { hash, timingSafeEqual } from 'node:crypto';

export interface TokenCheck {
  readonly isRequired: boolean;
  /** `authorization` is the header as the client sent it. */
  accepts(authorization: string | undefined): boolean;
}

/** For a server without a token. */
export function anyToken(): TokenCheck {
  return { isRequired: false, accepts: () => true };
}

export function requireToken(token: string): TokenCheck {
  const expected = fingerprint(token);
  return {
    isRequired: true,
    accepts(authorization) {
      const presented = authorization === undefined ? undefined : tokenIn(authorization);
      return presented !== undefined && timingSafeEqual(fingerprint(presented), expected);
    },
  };
}

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
