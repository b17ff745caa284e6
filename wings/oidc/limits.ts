// The limits of logins with OpenID Connect: sizes, counts and times.
import { KIB, MINUTE, SECOND } from '../../core/units.ts';

/** At the server. */
export const OIDC = {
  /** A token of an issuer. GitHub's have 2 KiB. */
  maxSubjectTokenLength: 16 * KIB,
  /** The largest difference between the clocks of the server and of an issuer. */
  clockSkewMs: 60 * SECOND,
  /** Tokens that were exchanged and have not ended: those of a million jobs a day, each valid for 2 h. */
  maxUsedTokens: 100_000,
  /** Keys of an issuer are fetched again after this time, or when a token names an unknown one. */
  keyRefreshMs: 60 * MINUTE,
  /** The pause between two attempts. */
  keyRetryMs: 10 * SECOND,
  /** While the issuer is down, its last keys stay in use for this long. */
  maxKeyAgeMs: 24 * 60 * MINUTE,
  issuerTimeoutMs: 10 * SECOND,
  maxIssuerBytes: 512 * KIB,
  maxIssuerKeys: 100,
  /** The part of a claim that a log and an error name. */
  maxClaimLength: 80,
  /** A namespace of a template with all of its claims at their longest: it stays below the limit of 255 characters. */
  maxTemplateLength: 180,
  maxTemplatePartLength: 64,
} as const;

/** `assay login`. */
export const LOGIN = {
  /** One request, and how often it is tried. */
  timeoutMs: 15 * SECOND,
  attempts: 3,
  pauseMs: 1 * SECOND,
  maxAnswerBytes: 64 * KIB,
  /** The part of a server's refusal that is printed. */
  maxReasonLength: 500,
} as const;
