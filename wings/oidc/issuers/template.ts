// A namespace with claims in it, such as "acme/app/branch/{branch}". A part is a literal or one claim.
//
// Guarantees:
// - Two different values of a claim never give the same part, and no value adds a level, "." or "..".
// - No value gives the part "pr", which only pull requests have.

import { hash } from 'node:crypto';
import { type Namespace, PULL_REQUESTS, parseNamespace } from '../../../core/namespace.ts';
import { OIDC } from '../limits.ts';
import { type Claims, claimText } from './claims.ts';

interface Claim {
  readonly claim: string;
}

export type Template = readonly (string | Claim)[];

const CLAIM = /^\{([0-9A-Za-z_.:/-]{1,64})\}$/;

/** The message of an error says what is wrong. */
export function parseTemplate(text: string): Template {
  const parts = text.split('/').map((part) => {
    const claim = CLAIM.exec(part)?.[1];
    return claim === undefined ? part : { claim };
  });
  const literals = parts.filter((part) => typeof part === 'string');
  if (literals.some((part) => /[{}]/.test(part)))
    throw new Error('a claim is a whole part of the namespace: "acme/{claim}", not "acme/x-{claim}"');
  if (literals.includes(PULL_REQUESTS))
    throw new Error(`the part "${PULL_REQUESTS}" is kept for pull requests, which get it by themselves`);
  const longest = parts.map((part) =>
    typeof part === 'string' ? part : 'x'.repeat(OIDC.maxTemplatePartLength),
  );
  if (longest.join('/').length > OIDC.maxTemplateLength)
    throw new Error(
      `with its claims at their longest (${OIDC.maxTemplatePartLength} each) it has more than ${OIDC.maxTemplateLength} characters`,
    );
  try {
    parseNamespace(longest.join('/'));
  } catch {
    throw new Error('a namespace has parts of letters, digits, "_", "-" and ".", with "/" between them');
  }
  return parts;
}

/** Undefined if the token lacks a claim. */
export function fillTemplate(template: Template, claims: Claims): Namespace | undefined {
  const parts = template.map((part) => {
    if (typeof part === 'string') return part;
    const value = claimText(claims, part.claim);
    return value === undefined ? undefined : namespacePart(value);
  });
  return parts.includes(undefined) ? undefined : parseNamespace(parts.join('/'));
}

export function claimsIn(template: Template): string[] {
  return template.flatMap((part) => (typeof part === 'string' ? [] : [part.claim]));
}

/**
 * A value as one part. Each byte outside the alphabet becomes "_" and two hex digits, and "_" itself too, so
 * the value could be read back. A value that is too long ends in "_-" and its hash, which no short one has.
 */
export function namespacePart(value: string): string {
  const text = value === PULL_REQUESTS ? escaped(value.charAt(0)) + value.slice(1) : escapedText(value);
  if (text.length <= OIDC.maxTemplatePartLength) return text;
  const end = `_-${hash('sha256', value, 'base64url')}`;
  return text.slice(0, OIDC.maxTemplatePartLength - end.length) + end;
}

function escapedText(value: string): string {
  return value.replaceAll(/[^0-9A-Za-z.-]|^\./gu, escaped);
}

function escaped(letter: string): string {
  return [...Buffer.from(letter)].map((byte) => `_${byte.toString(16).padStart(2, '0')}`).join('');
}
