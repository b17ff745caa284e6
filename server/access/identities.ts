// Identities: all sources of identities of a server as one, and the exchange of a token for a short one.
//
// Guarantees:
// - A token of one source never hides a token of another: the first source that knows a token decides.
// - A short token has no right that its subject lacks, and does not outlive it: it ends when its subject does,
//   and when a token of the tokens file that it was exchanged for is revoked.
import { hash } from 'node:crypto';
import { AssayError } from '../../core/errors.ts';
import { ACCESS } from '../limits.ts';
import { type Identity, type IdentitySource, nextVersion } from './identity.ts';
import type { Right } from './rights.ts';
import type { ShortIdentity, ShortToken, ShortTokens } from './short-tokens.ts';

export interface ExchangeRequest {
  readonly subjectToken: string;
  /** Where the subject token comes from: an issuer of OpenID Connect, or this server. */
  readonly from: 'issuer' | 'server';
  /** The rights that the short token may have at most. Undefined: all that the subject has. */
  readonly scope?: ReadonlySet<Right> | undefined;
  /** For which server the client wants the token. */
  readonly audience?: string | undefined;
}

export interface Grant extends ShortToken {
  readonly identity: Identity;
  readonly expiresAt: number;
}

export interface TokenExchange {
  /** Throws ASSAY_TOKEN_REFUSED, or another error of the catalogue. */
  exchange(request: ExchangeRequest): Promise<Grant>;
}

/** Verifies tokens of issuers, and knows which identity their claims give. */
export interface Issuers {
  /** `identity.expiresAt` is the end of the short token. Throws if the token is refused. */
  identify(token: string, audience?: string): Promise<Identity>;
}

interface Sources {
  /** The tokens file, and others whose tokens do not come from an exchange. */
  readonly own: readonly IdentitySource[];
  readonly shortTokens: ShortTokens;
  readonly issuers?: Issuers | undefined;
  readonly now?: () => number;
}

export class Identities implements IdentitySource, TokenExchange {
  readonly #own: readonly IdentitySource[];
  readonly #shortTokens: ShortTokens;
  readonly #issuers: Issuers | undefined;
  readonly #now: () => number;
  /** These sources together are new, whatever the version of each is. */
  readonly #createdAs = nextVersion();

  constructor({ own, shortTokens, issuers, now = Date.now }: Sources) {
    this.#own = own;
    this.#shortTokens = shortTokens;
    this.#issuers = issuers;
    this.#now = now;
  }

  identify(token: string): Identity | undefined {
    const short = this.#shortTokens.identify(token);
    return short ? this.#whileParentValid(short) : this.#identifyOwn(token);
  }

  /** Short tokens change by expiry alone, so the newest version of the other sources is that of all. */
  get version(): number | undefined {
    let newest = this.#createdAs;
    for (const { version } of this.#own) {
      if (version === undefined) return undefined;
      newest = Math.max(newest, version);
    }
    return newest;
  }

  identifyAccessKey(accessKey: string): { identity: Identity; secretKey: string } | undefined {
    const found = this.#shortTokens.identifyAccessKey(accessKey);
    const identity = found && this.#whileParentValid(found.identity);
    return identity && { identity, secretKey: found.secretKey };
  }

  get anonymous(): Identity | undefined {
    for (const { anonymous } of this.#own) if (anonymous) return anonymous;
    return undefined;
  }

  async exchange({ subjectToken, from, scope, audience }: ExchangeRequest): Promise<Grant> {
    const subject =
      from === 'issuer' ? await this.#ofIssuer(subjectToken, audience) : this.#identifyOwn(subjectToken);
    if (!subject) throw new AssayError('ASSAY_TOKEN_REFUSED', 'this server does not know the token');
    const rights = scope ? subject.rights.intersection(scope) : subject.rights;
    if (rights.size === 0)
      throw new AssayError('ASSAY_TOKEN_SCOPE', 'the token has none of the rights that the scope names');
    const expiresAt = endOf(subject, this.#now());
    const identity = { ...subject, rights, expiresAt };
    const parent = from === 'server' ? hash('sha256', subjectToken) : undefined;
    return { ...this.#shortTokens.issue({ ...identity, parent }), identity, expiresAt };
  }

  #identifyOwn(token: string): Identity | undefined {
    for (const source of this.#own) {
      const identity = source.identify(token);
      if (identity) return identity;
    }
    return undefined;
  }

  /** The time of the parent may have been shortened since the exchange. Then it ends the short token too. */
  #whileParentValid(short: ShortIdentity): Identity | undefined {
    if (short.parent === undefined) return short;
    for (const source of this.#own) {
      const parent = source.identifyHash?.(short.parent);
      if (!parent) continue;
      const { expiresAt = Number.POSITIVE_INFINITY } = parent;
      return expiresAt < short.expiresAt ? { ...short, expiresAt } : short;
    }
    return undefined;
  }

  #ofIssuer(token: string, audience: string | undefined): Promise<Identity> {
    if (!this.#issuers) throw new AssayError('ASSAY_TOKEN_REFUSED', 'this server trusts no issuer');
    return this.#issuers.identify(token, audience);
  }
}

/** In whole seconds: a short token never outlives its subject. */
function endOf({ expiresAt = Number.POSITIVE_INFINITY }: Identity, now: number): number {
  return Math.floor(Math.min(expiresAt, now + ACCESS.maxShortTokenMs) / 1000) * 1000;
}
