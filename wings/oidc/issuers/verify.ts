// Verifies a token of an issuer: signature, issuer, audience and times.
//
// Guarantees:
// - Only asymmetric algorithms, whatever the token's header says. Keys come from the issuer's own set; a key
//   or a URL in the header is never used.
// - An error says which check failed and quotes nothing of the token.
import * as jose from 'jose';
import { AssayError } from '../../../core/errors.ts';
import { OIDC } from '../limits.ts';
import type { Issuer } from './config.ts';
import type { IssuerKeys } from './keys.ts';
import { refused } from './refusal.ts';

const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

/** The issuer that the token claims, before anything is verified. Undefined if it is no token. */
export function claimedIssuer(token: string): string | undefined {
  try {
    return jose.decodeJwt(token).iss;
  } catch {
    return undefined;
  }
}

/** The claims of the token. `exp` and `iat` are there. */
export async function verifyToken(
  token: string,
  { issuer, audiences }: Issuer,
  keys: IssuerKeys,
  now: number,
): Promise<jose.JWTPayload & { readonly exp: number }> {
  try {
    const { payload, protectedHeader } = await jose.jwtVerify(
      token,
      (header, jws) => keys.find(jose, header, jws),
      {
        algorithms: ALGORITHMS,
        issuer,
        audience: [...audiences],
        clockTolerance: OIDC.clockSkewMs / 1000,
        currentDate: new Date(now),
        requiredClaims: ['exp', 'iat'],
      },
    );
    const { exp, iat } = payload;
    if (protectedHeader.typ !== undefined && protectedHeader.typ.toUpperCase() !== 'JWT')
      throw refused('it is a token of another type');
    if (exp === undefined || iat === undefined || iat * 1000 > now + OIDC.clockSkewMs)
      throw refused('it was issued in the future: compare the clocks');
    return { ...payload, exp };
  } catch (error) {
    if (error instanceof AssayError) throw error;
    throw refused(reasonOf(error));
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof jose.errors.JWTExpired) return 'it has expired';
  if (error instanceof jose.errors.JWTClaimValidationFailed) return claimReason(error.claim);
  if (error instanceof jose.errors.JOSEAlgNotAllowed)
    return 'it is signed with an algorithm that is not allowed';
  if (error instanceof jose.errors.JWKSNoMatchingKey) return 'its issuer has no such key';
  if (error instanceof jose.errors.JWKSMultipleMatchingKeys) return 'it does not say which key signed it';
  if (error instanceof jose.errors.JWSSignatureVerificationFailed) return 'its signature is wrong';
  return 'it is not valid';
}

const CLAIM_REASONS: Readonly<Record<string, string>> = {
  aud: 'it is for another audience',
  iss: 'it is from another issuer',
  nbf: 'it is not valid yet: compare the clocks',
  exp: 'it has no end',
  iat: 'it does not say when it was issued',
};

function claimReason(claim: string): string {
  return CLAIM_REASONS[claim] ?? 'one of its claims is not valid';
}
