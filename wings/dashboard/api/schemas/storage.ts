// The contents of the store by team, tool and namespace; refused writes, tokens and nodes.
import {
  BOOLEAN,
  type Described,
  listOf,
  NUMBER,
  object,
  optionalField,
  STRING,
} from '../../../../core/metadata/json-schema.ts';

const ACCOUNT_ROW = object({
  name: STRING,
  bytes: NUMBER,
  quotaBytes: optionalField(NUMBER),
  floorBytes: optionalField(NUMBER),
});

export type AccountRow = Described<typeof ACCOUNT_ROW>;

const USAGE_ROW = object({
  name: STRING,
  results: NUMBER,
  /** Of its results and of the blobs that they name; a shared blob counts for each. */
  bytes: NUMBER,
});

export type UsageRow = Described<typeof USAGE_ROW>;

const NAMESPACE_ROW = object({
  /** Of pull requests: PARENT/pr/…, which adds them up. */
  namespace: STRING,
  /** How many namespaces that are. Absent for any other one. */
  grouped: optionalField(NUMBER),
  results: NUMBER,
  /** Names of tokens, the busiest first, at most 10. */
  writers: listOf(STRING),
  lastWriteAt: optionalField(STRING),
});

export type NamespaceRow = Described<typeof NAMESPACE_ROW>;

const DENIED_WRITE = object({
  at: STRING,
  identity: STRING,
  tool: STRING,
  why: STRING,
});

export type DeniedWrite = Described<typeof DENIED_WRITE>;

const TOKEN_ROW = object({
  name: STRING,
  namespace: STRING,
  rights: listOf(STRING),
  expiresAt: optionalField(STRING),
  expiresSoon: BOOLEAN,
});

export type TokenRow = Described<typeof TOKEN_ROW>;

const NODE_ROW = object({
  name: STRING,
  lastSeenAt: STRING,
  isThisOne: BOOLEAN,
});

export type NodeRow = Described<typeof NODE_ROW>;

export const STORAGE = object({
  /** Absent without the right `server:stats`. */
  store: optionalField(
    object({
      usedBytes: NUMBER,
      limitBytes: optionalField(NUMBER),
      /** Since the start of this process. */
      evictedBytes: NUMBER,
      /** How long what was evicted last had not been used. Absent if nothing was evicted, or if it is not known. */
      evictedUnusedMs: optionalField(NUMBER),
    }),
  ),
  /** Namespaces with a quota or a floor that the token sees whole. */
  accounts: listOf(ACCOUNT_ROW),
  /** When the counts below were made; they take a walk through the store. */
  countedAt: optionalField(STRING),
  /** The largest first. */
  teams: listOf(USAGE_ROW),
  tools: listOf(USAGE_ROW),
  namespaces: listOf(NAMESPACE_ROW),
  /** Newest first. */
  deniedWrites: listOf(DENIED_WRITE),
  /** The next to end first. */
  tokens: listOf(TOKEN_ROW),
  /** Empty if there is one node. */
  nodes: listOf(NODE_ROW),
});

export type Storage = Described<typeof STORAGE>;
