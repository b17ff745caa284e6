// Finds the identity of a request by its credential: Bearer, or the password of Basic.
// Guarantee: a credential that was revoked, or whose time has come, is refused from the next request on, also
// if it was used a moment before (credential-memo.ts).
import { hash, timingSafeEqual } from 'node:crypto';
import { CredentialMemo } from './credential-memo.ts';
import { type Identity, type IdentitySource, ROOT_IDENTITY } from './identity.ts';

interface AccessOptions {
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
  /** The tokens that the server has a record of. */
  listed(): readonly Identity[];
}

export function accessControl({ token, identities, now = Date.now }: AccessOptions): AccessControl {
  if (token === undefined && !identities) return OPEN;
  const expected = token === undefined ? undefined : fingerprint(token);
  const current = (identity: Identity | undefined) =>
    identity && (identity.expiresAt === undefined || now() < identity.expiresAt) ? identity : undefined;
  const findToken = (presented: string) => {
    if (expected && timingSafeEqual(fingerprint(presented), expected)) return ROOT_IDENTITY;
    return current(identities?.identify(presented));
  };
  const findHeader = (authorization: string) => {
    const presented = tokenIn(authorization);
    return presented === undefined ? undefined : findToken(presented);
  };
  /** Without identities there is one token, which never changes. */
  const version = () => (identities ? identities.version : 0);
  const remembered = (find: (credential: string) => Identity | undefined) => {
    const memo = new CredentialMemo();
    return (credential: string) => {
      const identity = memo.identify(credential, version(), find);
      const found = current(identity);
      if (identity && !found) memo.forget(credential);
      return found;
    };
  };
  const byHeader = remembered(findHeader);
  return {
    isOpen: false,
    ofToken: remembered(findToken),
    ofHeader: (authorization) =>
      authorization === undefined ? identities?.anonymous : byHeader(authorization),
    listed: () => identities?.listed?.() ?? [],
    ofAccessKey(accessKey) {
      const found = identities?.identifyAccessKey?.(accessKey);
      return found && current(found.identity) ? found : undefined;
    },
  };
}

const OPEN: AccessControl = {
  isOpen: true,
  ofHeader: () => ROOT_IDENTITY,
  ofToken: () => ROOT_IDENTITY,
  ofAccessKey: () => undefined,
  listed: () => [],
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
