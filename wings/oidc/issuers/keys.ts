// The public keys of an issuer: fetched, kept, and fetched again when a token names an unknown one.
//
// Guarantees:
// - Only asymmetric keys are kept, so no public text can serve as a secret.
// - Tokens with unknown keys cause at most one fetch in OIDC.keyRetryMs, whoever sends them.
// - While the issuer is down, the last keys stay in use for OIDC.maxKeyAgeMs. A key that the issuer
//   withdrew is in use no longer than that.
import type { CryptoKey, FlattenedJWSInput, JSONWebKeySet, JWK, JWSHeaderParameters } from 'jose';
import { AssayError, messageOf } from '../../../core/errors.ts';
import { OIDC } from '../limits.ts';
import type { Issuer } from './config.ts';
import type { FetchJson } from './fetch-json.ts';

type FindKey = (header?: JWSHeaderParameters, token?: FlattenedJWSInput) => Promise<CryptoKey>;

type Jose = typeof import('jose');

const ASYMMETRIC = ['RSA', 'EC', 'OKP'];
const DISCOVERY = '/.well-known/openid-configuration';

export class IssuerKeys {
  readonly #issuer: Pick<Issuer, 'issuer' | 'jwks'>;
  readonly #fetchJson: FetchJson;
  readonly #now: () => number;
  #find: FindKey | undefined;
  #fetchedAt = Number.NEGATIVE_INFINITY;
  #triedAt = Number.NEGATIVE_INFINITY;
  #fetching: Promise<void> | undefined;
  #lastError = 'it was not asked yet';

  constructor(issuer: Pick<Issuer, 'issuer' | 'jwks'>, fetchJson: FetchJson, now: () => number) {
    this.#issuer = issuer;
    this.#fetchJson = fetchJson;
    this.#now = now;
  }

  /** For jose's jwtVerify. Throws an error of jose if the issuer has no such key. */
  async find(jose: Jose, header: JWSHeaderParameters, token: FlattenedJWSInput): Promise<CryptoKey> {
    if (!this.#usable()) await this.#fetch(jose);
    else if (this.#now() - this.#fetchedAt > OIDC.keyRefreshMs) void this.#fetch(jose);
    const find = this.#usable();
    if (!find) throw this.#unreachable();
    try {
      return await find(header, token);
    } catch (error) {
      if (!(error instanceof jose.errors.JWKSNoMatchingKey) || !(await this.#fetch(jose))) throw error;
      return await (this.#usable() ?? find)(header, token);
    }
  }

  #usable(): FindKey | undefined {
    return this.#now() - this.#fetchedAt <= OIDC.maxKeyAgeMs ? this.#find : undefined;
  }

  /** False if the last attempt is too recent for another. Many callers wait for the same attempt. */
  async #fetch(jose: Jose): Promise<boolean> {
    if (!this.#fetching) {
      if (this.#now() - this.#triedAt < OIDC.keyRetryMs) return false;
      this.#triedAt = this.#now();
      this.#fetching = this.#fetchNow(jose).finally(() => {
        this.#fetching = undefined;
      });
    }
    await this.#fetching;
    return true;
  }

  async #fetchNow(jose: Jose): Promise<void> {
    try {
      const keys = asymmetricKeys(await this.#fetchJson(await this.#jwksUrl()));
      this.#find = jose.createLocalJWKSet(keys);
      this.#fetchedAt = this.#now();
    } catch (error) {
      this.#lastError = messageOf(error);
    }
  }

  async #jwksUrl(): Promise<string> {
    const { issuer, jwks } = this.#issuer;
    if (jwks !== undefined) return jwks;
    const document = await this.#fetchJson(`${issuer.replace(/\/$/, '')}${DISCOVERY}`);
    const { issuer: named, jwks_uri: url }: Record<string, unknown> = Object(document);
    if (named !== issuer) throw new Error('its discovery document names another issuer');
    if (typeof url !== 'string') throw new Error('its discovery document has no jwks_uri');
    return url;
  }

  #unreachable(): AssayError {
    const { issuer } = this.#issuer;
    return new AssayError('ASSAY_ISSUER_UNREACHABLE', `the keys of ${issuer}: ${this.#lastError}`);
  }
}

function asymmetricKeys(document: unknown): JSONWebKeySet {
  const { keys }: { keys?: unknown } = Object(document);
  if (!Array.isArray(keys)) throw new Error('its keys are no JSON Web Key Set');
  const usable = keys.slice(0, OIDC.maxIssuerKeys).filter(isAsymmetric);
  if (usable.length === 0) throw new Error('it has no asymmetric key');
  return { keys: usable };
}

function isAsymmetric(key: unknown): key is JWK {
  const { kty }: { kty?: unknown } = Object(key);
  return typeof kty === 'string' && ASYMMETRIC.includes(kty);
}
