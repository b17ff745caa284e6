// BrowserSessions: the cookie of a person who logged in with a token.
//
// The cookie holds the token and its end, sealed with AES-256-GCM. Guarantees:
// - Each request finds the identity by the token again: a token that was revoked or has ended ends its sessions.
// - The cookie is no token: no protocol accepts it, and without the server's key nobody can take the token out.
// - The identity of a cookie has no right to write.
// - A session that was closed is over at every server of the store, also for a copy of its cookie.
// Only pages and GET of /api ask for it (http/app.ts). The server keeps no list of sessions, only of those that were closed.
import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { AssayError } from '../../../core/errors.ts';
import { ACCESS } from '../../limits.ts';
import type { AccessControl } from '../access-control.ts';
import type { AuthKey } from '../auth-key.ts';
import type { Identity } from '../identity.ts';
import type { Right } from '../rights.ts';
import { type EndedSessions, endedSessions } from './ended-sessions.ts';

const COOKIE = 'assay-session';
const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;

const READING: ReadonlySet<Right> = new Set([
  'results:read',
  'blobs:read',
  'stats',
  'overview',
  'admin',
  'server:stats',
]);

interface SessionCookie {
  /** The value of Set-Cookie. */
  readonly header: string;
  readonly identity: Identity;
}

interface Session {
  readonly id: string;
  readonly token: string;
  readonly expiresAt: number;
}

export class BrowserSessions {
  readonly #access: AccessControl;
  readonly #secret: AuthKey;
  readonly #ended: EndedSessions;
  readonly #now: () => number;

  /** Servers with the same secret and store accept each other's cookies. */
  constructor(
    access: AccessControl,
    secret: AuthKey = newSecret(),
    ended: EndedSessions = endedSessions(undefined, true),
    now: () => number = Date.now,
  ) {
    this.#access = access;
    this.#secret = secret;
    this.#ended = ended;
    this.#now = now;
  }

  get #key(): Buffer {
    return Buffer.from(hkdfSync('sha256', this.#secret(), '', 'assay browser session', KEY_BYTES));
  }

  /** Undefined if nobody has this token. `isSecure`: the browser sends the cookie over TLS alone. */
  open(token: string, isSecure: boolean): SessionCookie | undefined {
    const identity = this.#access.ofToken(token);
    if (!identity) return undefined;
    const expiresAt = Math.min(
      identity.expiresAt ?? Number.POSITIVE_INFINITY,
      this.#now() + ACCESS.sessionMs,
    );
    const value = this.#seal(JSON.stringify([token, expiresAt]));
    if (value.length > ACCESS.maxSessionLength)
      throw new AssayError('ASSAY_TOKEN_REFUSED', 'the token is too long for a browser’s cookie');
    const seconds = Math.max(0, Math.floor((expiresAt - this.#now()) / 1000));
    return { header: setCookie(value, seconds, isSecure), identity };
  }

  /** Ends the session of the cookie, and returns the value of Set-Cookie that removes it. */
  async close(headers: IncomingHttpHeaders, isSecure: boolean): Promise<string> {
    const session = this.#sessionOf(headers);
    if (session) await this.#ended.add(session.id, session.expiresAt);
    return setCookie('', 0, isSecure);
  }

  /** Undefined without a valid cookie. */
  async identityOf(headers: IncomingHttpHeaders): Promise<Identity | undefined> {
    const session = this.#sessionOf(headers);
    const identity = session && this.#access.ofToken(session.token);
    if (!identity || (await this.#ended.has(session.id))) return undefined;
    return { ...identity, rights: identity.rights.intersection(READING) };
  }

  /** The ID is of the bytes: base64url has several spellings of them. */
  #sessionOf({ cookie }: IncomingHttpHeaders): Session | undefined {
    const value = cookie === undefined ? undefined : valueIn(cookie);
    const text = value === undefined ? undefined : this.#unseal(value);
    if (value === undefined || text === undefined) return undefined;
    const [token, end]: unknown[] = JSON.parse(text);
    const expiresAt = Number(end);
    if (typeof token !== 'string' || expiresAt <= this.#now()) return undefined;
    return { token, expiresAt, id: hash('sha256', Buffer.from(value, 'base64url')) };
  }

  #seal(text: string): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, iv);
    const sealed = [iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()];
    return Buffer.concat(sealed).toString('base64url');
  }

  #unseal(value: string): string | undefined {
    const bytes = Buffer.from(value, 'base64url');
    if (value.length > ACCESS.maxSessionLength || bytes.length < IV_BYTES + TAG_BYTES) return undefined;
    const options = { authTagLength: TAG_BYTES };
    const decipher = createDecipheriv(CIPHER, this.#key, bytes.subarray(0, IV_BYTES), options);
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    try {
      const text = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES));
      return Buffer.concat([text, decipher.final()]).toString('utf8');
    } catch {
      return undefined;
    }
  }
}

function newSecret(): AuthKey {
  const secret = randomBytes(KEY_BYTES);
  return () => secret;
}

function setCookie(value: string, maxAgeSeconds: number, isSecure: boolean): string {
  const attributes = `Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict`;
  return `${COOKIE}=${value}; ${attributes}${isSecure ? '; Secure' : ''}`;
}

/** The browser logged in once. The session may have ended. */
export function hasSession({ cookie }: IncomingHttpHeaders): boolean {
  return cookie !== undefined && valueIn(cookie) !== undefined;
}

function valueIn(cookies: string): string | undefined {
  for (const one of cookies.split(';')) {
    const [name, value] = one.trim().split('=');
    if (name === COOKIE) return value;
  }
  return undefined;
}
