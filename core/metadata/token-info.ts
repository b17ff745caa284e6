// The answer of an Assay server about the token that asks.
import { type Described, listOf, object, optionalField, STRING } from './json-schema.ts';

export const TOKEN_PATH = '/api/v1/token';

export const TOKEN_INFO = object({
  name: STRING,
  /** It writes here or below. Empty for the whole server. */
  namespace: STRING,
  /** What it reads besides, in this order, and what lies above each. */
  reads: listOf(STRING),
  rights: listOf(STRING),
  /** In ISO 8601. */
  expiresAt: optionalField(STRING),
});

export type TokenInfo = Described<typeof TOKEN_INFO>;
