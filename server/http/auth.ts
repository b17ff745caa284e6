// Who may come in: whoever presents the server's one token, as Bearer or as the Basic password; everybody where there is
// none. The token itself is not kept, only its hash, so that nothing which prints or logs this can give it away.
import { hash, timingSafeEqual } from 'node:crypto';

export interface TokenCheck {
  readonly isRequired: boolean;
  /** Takes the Authorization header as it was sent. */
  accepts(authorization: string | undefined): boolean;
}

export function anyToken(): TokenCheck {
  return { isRequired: false, accepts: () => true };
}

export function requireToken(token: string): TokenCheck {
  const right = fingerprint(token);
  return {
    isRequired: true,
    accepts(authorization) {
      const presented = authorization === undefined ? undefined : tokenIn(authorization);
      return presented !== undefined && timingSafeEqual(fingerprint(presented), right);
    },
  };
}

/** Equal length for every token, so that comparing takes the same time whatever was sent. */
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
