// All issuers of a server: verifies a token, applies the rules of its issuer, and takes each token once.
// Guarantee: a new configuration keeps what is known of used tokens, and the keys of issuers that stay.
import type { ConfigValue } from '../../../core/config/document.ts';
import { AssayError } from '../../../core/errors.ts';
import { PULL_REQUESTS, parseNamespace } from '../../../core/namespace.ts';
import type { Identity } from '../../../server/access/identity.ts';
import type { ConfigurableIssuers, TrustedIssuers } from '../../../server/config/issuers-port.ts';
import type { History } from '../../../store/history.ts';
import { OIDC } from '../limits.ts';
import type { Claims } from './claims.ts';
import { claimText } from './claims.ts';
import { type Issuer, parseIssuers } from './config.ts';
import { type FetchJson, fetchJson } from './fetch-json.ts';
import { IssuerKeys } from './keys.ts';
import { refused } from './refusal.ts';
import { storedUsedTokens, tokenDigest, type UsedTokens, UsedTokensInMemory } from './replay.ts';
import { identityFor } from './rule.ts';

interface Known {
  readonly issuer: Issuer;
  readonly keys: IssuerKeys;
}

interface Options {
  readonly now?: () => number;
  readonly fetchJson?: FetchJson;
  /** In memory unless given. */
  readonly used?: UsedTokens;
}

export class OidcIssuers implements ConfigurableIssuers {
  readonly #now: () => number;
  readonly #fetchJson: FetchJson;
  #used: UsedTokens;
  #known: ReadonlyMap<string, Known> = new Map();

  constructor(issuers: readonly Issuer[] = [], options: Options = {}) {
    this.#now = options.now ?? Date.now;
    this.#fetchJson = options.fetchJson ?? fetchJson;
    this.#used = options.used ?? new UsedTokensInMemory();
    this.configure(issuers);
  }

  parse(value: ConfigValue): TrustedIssuers {
    const issuers = parseIssuers(value);
    const rules = issuers.flatMap((issuer) => issuer.rules);
    const parents = rules.flatMap(({ untrusted }) => untrusted?.parent ?? []);
    return {
      pullRequests: [...new Set(parents.map((parent) => parseNamespace(`${parent}/${PULL_REQUESTS}`)))],
      putInForce: () => this.configure(issuers),
    };
  }

  keepUsedTokens(history: History | undefined, isReadOnly: boolean): void {
    this.#used = history && !isReadOnly ? storedUsedTokens(history) : new UsedTokensInMemory(history);
  }

  /** Replaces all issuers and their rules. */
  configure(issuers: readonly Issuer[]): void {
    this.#known = new Map(
      issuers.map((issuer) => {
        const old = this.#known.get(issuer.issuer);
        const keys =
          old && old.issuer.jwks === issuer.jwks
            ? old.keys
            : new IssuerKeys(issuer, this.#fetchJson, this.#now);
        return [issuer.issuer, { issuer, keys }];
      }),
    );
  }

  async identify(token: string, audience?: string): Promise<Identity> {
    if (this.#known.size === 0) throw refused('this server trusts no issuer');
    if (token.length > OIDC.maxSubjectTokenLength) throw refused('it is too long');
    // It loads jose, which most servers never need.
    const { claimedIssuer, verifyToken } = await import('./verify.ts');
    const known = this.#known.get(claimedIssuer(token) ?? '');
    if (!known) throw refused('its issuer is not one that this server trusts');
    const { issuer, keys } = known;
    if (audience !== undefined && !issuer.audiences.includes(audience))
      throw new AssayError(
        'ASSAY_TOKEN_AUDIENCE',
        'this server does not have the audience that was asked for',
      );
    const claims = await verifyToken(token, issuer, keys, this.#now());
    const now = this.#now();
    const identity = identityFor(issuer.rules, { ...issuer, claims }, now);
    if (!identity) throw refused(`no rule of this server applies to ${described(claims)}`);
    const endsAt = claims.exp * 1000 + OIDC.clockSkewMs;
    if (!(await this.#used.add(tokenDigest(token), endsAt, now)))
      throw refused('it was exchanged before, and each is taken once');
    return identity;
  }
}

const DESCRIBED = [
  'repository_id',
  'repository_owner_id',
  'project_id',
  'namespace_id',
  'ref',
  'ref_type',
  'ref_protected',
  'event_name',
  'pipeline_source',
];

/** For the one who writes rules: the claims that rules compare. The token is verified, so they are true. */
function described(claims: Claims): string {
  const said = DESCRIBED.flatMap((name) => {
    const text = claimText(claims, name);
    return text === undefined ? [] : [`${name}=${JSON.stringify(text.slice(0, 100))}`];
  });
  return said.length === 0 ? 'this token' : said.join(' ');
}
