// Access: who may use the server, as its settings say. A reload replaces it while the server runs.
// Guarantee: a change is prepared whole before any of it takes effect.
import type { Logger } from 'pino';
import type { AuthKey } from '../access/auth-key.ts';
import { type ExchangeRequest, type Grant, Identities, type TokenExchange } from '../access/identities.ts';
import type { Identity, IdentitySource } from '../access/identity.ts';
import { ShortTokens } from '../access/short-tokens.ts';
import { TokenSource } from '../access/token-source.ts';
import type { ConfigurableIssuers } from './issuers-port.ts';
import type { Settings } from './settings.ts';

/** False for a server on which every request has all rights, or which has ASSAY_TOKEN alone. */
export function hasIdentities({ tokensFile, anonymous, issuers }: Settings): boolean {
  return tokensFile !== undefined || anonymous !== undefined || issuers !== undefined;
}

interface Current {
  readonly identities: Identities;
  readonly tokens: TokenSource | undefined;
}

export class AccessSources implements IdentitySource, TokenExchange {
  readonly #log: Logger;
  readonly #shortTokens: ShortTokens;
  readonly #issuers: ConfigurableIssuers | undefined;
  #current: Current;
  #stopFollowing = new AbortController();

  /** `issuers` has parsed those of the settings. Throws ASSAY_TOKENS_FILE if the tokens file is not valid. */
  constructor(settings: Settings, key: AuthKey, log: Logger, issuers?: ConfigurableIssuers) {
    this.#log = log;
    this.#shortTokens = new ShortTokens(key);
    this.#issuers = issuers;
    this.#current = this.#open(settings, undefined);
    settings.issuers?.putInForce();
  }

  identify(token: string): Identity | undefined {
    return this.#current.identities.identify(token);
  }

  get version(): number | undefined {
    return this.#current.identities.version;
  }

  listed(): readonly Identity[] {
    return this.#current.tokens?.listed() ?? [];
  }

  identifyAccessKey(accessKey: string): { identity: Identity; secretKey: string } | undefined {
    return this.#current.identities.identifyAccessKey(accessKey);
  }

  get anonymous(): Identity | undefined {
    return this.#current.identities.anonymous;
  }

  exchange(request: ExchangeRequest): Promise<Grant> {
    return this.#current.identities.exchange(request);
  }

  /** Opens what new settings need, which may throw. The function that it returns puts them in force. */
  prepare(settings: Settings): () => void {
    const next = this.#open(settings, this.#current.tokens);
    return () => {
      const isSameFile = next.tokens === this.#current.tokens;
      this.#current = next;
      settings.issuers?.putInForce();
      if (isSameFile) next.tokens?.reload();
      else this.#stopFollowing.abort();
    };
  }

  /** Follows the tokens file, and the next one after a reload. */
  async keepFollowing(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#stopFollowing = new AbortController();
      const either = AbortSignal.any([signal, this.#stopFollowing.signal]);
      await (this.#current.tokens?.keepFollowing(either) ?? aborted(either));
    }
  }

  #open({ tokensFile, anonymous, issuers }: Settings, earlier: TokenSource | undefined): Current {
    const tokens = tokensFile === earlier?.file ? earlier : this.#openTokens(tokensFile);
    const withoutToken: IdentitySource = { identify: () => undefined, version: 0, anonymous };
    const own = tokens ? [tokens, withoutToken] : [withoutToken];
    const identities = new Identities({
      own,
      shortTokens: this.#shortTokens,
      issuers: issuers && this.#issuers,
    });
    return { tokens, identities };
  }

  #openTokens(file: string | undefined): TokenSource | undefined {
    return file === undefined ? undefined : new TokenSource({ file, log: this.#log });
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
