// A token in the form of a JWT: BuildKit takes no other one for its cache of type=gha.
// Guarantee: the form proves nothing and permits nothing. No server of Assay reads the header or the claims.
import { ancestorsOf, type Namespace } from '../namespace.ts';

interface TokenDescription {
  readonly namespace: Namespace;
  readonly reads: readonly Namespace[];
  readonly mayRead: boolean;
  readonly mayWrite: boolean;
  /** In milliseconds since 1970. Undefined if it does not end. */
  readonly expiresAt: number | undefined;
}

/** BuildKit refuses a token without an algorithm that it knows, and verifies none. */
const HEADER = { typ: 'JWT', alg: 'HS256' };

/** The end of the year 9999: BuildKit refuses a token that has no end. */
const NEVER = Date.UTC(10_000, 0) / 1000 - 1;

const [READ, WRITE] = [1, 2];

/** `secret` is the third part, in base64url: the only one that counts. */
export function asJwt(secret: string, described: TokenDescription): string {
  const { expiresAt } = described;
  const exp = expiresAt === undefined ? NEVER : Math.floor(expiresAt / 1000);
  // Clocks differ, and a server decides by its own one: so the token has no beginning.
  const claims = { ac: JSON.stringify(scopesOf(described)), exp, nbf: 0 };
  return [encoded(HEADER), encoded(claims), secret].join('.');
}

/** A short token, ID.SECRET, in the form of a JWT. The server takes it out of the third part again. */
export function wrapInJwt(token: string, described: TokenDescription): string {
  return asJwt(Buffer.from(token).toString('base64url'), described);
}

const WRAPPED = /^[\w-]+\.[\w-]+\.([\w-]+)$/;

/** The token in the third part. Undefined if the text has not this form. */
export function unwrapJwt(text: string): string | undefined {
  const [, wrapped] = WRAPPED.exec(text) ?? [];
  if (wrapped === undefined) return undefined;
  const bytes = Buffer.from(wrapped, 'base64url');
  // Base64url has several spellings of the same bytes. One of them counts.
  return bytes.toString('base64url') === wrapped ? bytes.toString('latin1') : undefined;
}

/**
 * BuildKit keeps an index for each scope. It writes the one of the last scope that may be written, and reads those of all. So
 * a token has a scope for each namespace that it reads.
 */
function scopesOf({ namespace, reads, mayRead, mayWrite }: TokenDescription) {
  const read = mayRead ? READ : 0;
  const others = new Set([...ancestorsOf(namespace), ...reads]);
  others.delete(namespace);
  return [
    ...(mayRead ? [...others].map((scope) => ({ Scope: scope, Permission: READ })) : []),
    { Scope: namespace, Permission: read + (mayWrite ? WRITE : 0) },
  ];
}

function encoded(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}
