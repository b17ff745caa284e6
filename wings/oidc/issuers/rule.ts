// A rule: which claims a token must have, and which identity it gets.
//
// Guarantees, unless the rule says `trust: true`:
// - The namespace of an untrusted run (claims.ts) has the part "pr". No trusted run has a namespace with that
//   part, so no trusted run reads or writes there, also not as a descendant.
// - Two pull requests never have the same namespace.
import type { Namespace } from '../../../core/namespace.ts';
import { PULL_REQUESTS, parseNamespace } from '../../../core/namespace.ts';
import type { Identity } from '../../../server/access/identity.ts';
import type { Right } from '../../../server/access/rights.ts';
import type { IssuerKind } from '../../../server/config/issuer-fields.ts';
import {
  type Claims,
  claimText,
  isTrustedRun,
  pullRequestName,
  repositoryNumber,
  runName,
  withBranchAndTag,
} from './claims.ts';
import { fillTemplate, type Template } from './template.ts';

export interface Condition {
  readonly claim: string;
  /** One of these. "*" stands for any text. */
  readonly values: readonly string[];
}

interface Place {
  readonly namespace: Template;
  readonly reads: readonly Template[];
}

/** Where untrusted runs write: PARENT/pr/NAME. */
interface PullRequestPlace {
  readonly parent: Namespace;
  /** Several repositories may have this parent, so the name begins with the number of the repository. */
  readonly isShared: boolean;
  readonly reads: readonly Template[];
}

export interface Rule {
  readonly when: readonly Condition[];
  /** Undefined if the rule is not for trusted runs. */
  readonly trusted?: Place | undefined;
  /** Undefined if the rule is not for untrusted runs. */
  readonly untrusted?: PullRequestPlace | undefined;
  /** The rule says `trust: true`: untrusted runs get what trusted ones get. */
  readonly trustsAll: boolean;
  readonly rights: ReadonlySet<Right>;
  readonly lifetimeMs: number;
}

interface RunOf {
  readonly kind: IssuerKind;
  readonly issuer: string;
  readonly claims: Claims;
}

/** What the first rule that applies gives. Undefined if no rule applies. */
export function identityFor(rules: readonly Rule[], run: RunOf, now: number): Identity | undefined {
  const claims = withBranchAndTag(run.kind, run.claims);
  const isTrusted = isTrustedRun(run.kind, run.claims);
  for (const rule of rules) {
    if (!rule.when.every((condition) => holds(condition, claims))) continue;
    const place = isTrusted || rule.trustsAll ? trustedPlace(rule, claims) : untrustedPlace(rule, claims);
    if (!place) continue;
    return {
      ...place,
      name: runName(run.kind, run.issuer, run.claims),
      expiresAt: now + rule.lifetimeMs,
    };
  }
  return undefined;
}

type PlaceAndRights = Pick<Identity, 'namespace' | 'reads' | 'rights'>;

function trustedPlace({ trusted, rights }: Rule, claims: Claims): PlaceAndRights | undefined {
  const namespace = trusted && fillTemplate(trusted.namespace, claims);
  return namespace && { namespace, reads: filled(trusted.reads, claims, namespace), rights };
}

function untrustedPlace({ untrusted, rights }: Rule, claims: Claims): PlaceAndRights | undefined {
  const name = pullRequestName(claims);
  if (!untrusted || name === undefined) return undefined;
  const { parent, isShared, reads } = untrusted;
  const repository = isShared ? repositoryNumber(claims) : '';
  if (repository === undefined) return undefined;
  const last = isShared ? `${repository}-${name}` : name;
  const namespace = parseNamespace(`${parent}/${PULL_REQUESTS}/${last}`);
  return {
    namespace,
    reads: filled(reads, claims, namespace),
    rights: rights.difference(NEVER_UNTRUSTED),
  };
}

const NEVER_UNTRUSTED: ReadonlySet<Right> = new Set(['overview', 'admin', 'server:stats']);

/** A template with a claim that the token lacks is left out: it can only be read less. */
function filled(templates: readonly Template[], claims: Claims, own: Namespace): Namespace[] {
  const namespaces = templates.flatMap((template) => fillTemplate(template, claims) ?? []);
  return [...new Set(namespaces)].filter((namespace) => namespace !== own);
}

function holds({ claim, values }: Condition, claims: Claims): boolean {
  const value = claimText(claims, claim);
  return value !== undefined && values.some((pattern) => matches(pattern, value));
}

/**
 * "*" stands for any text, also with "/". A regular expression with several of them could take very long; this
 * takes at most the product of both lengths.
 */
export function matches(pattern: string, text: string): boolean {
  const [first = '', ...others] = pattern.split('*');
  const last = others.pop();
  if (last === undefined) return pattern === text;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const piece of others) {
    const found = text.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}
