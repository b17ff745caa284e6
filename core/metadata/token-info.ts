// What an Assay server tells about the token that asks.

export const TOKEN_PATH = '/api/v1/token';

export interface TokenInfo {
  readonly name: string;
  /** It writes here or below. Empty for the whole server. */
  readonly namespace: string;
  /** What it reads besides, in this order, and what lies above each. */
  readonly reads: readonly string[];
  readonly rights: readonly string[];
  /** In ISO 8601. */
  readonly expiresAt?: string;
}
