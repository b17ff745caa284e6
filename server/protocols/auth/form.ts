// The form of a token exchange (RFC 8693): which token, of what type, and what for.
import { AssayError } from '../../../core/errors.ts';
import type { ExchangeRequest } from '../../access/identities.ts';
import { parseRights, type Right } from '../../access/rights.ts';

const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:token-exchange';
export const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';

/** An access token is one of this server. The other types are tokens of an issuer. */
const FROM: Readonly<Record<string, ExchangeRequest['from']>> = {
  'urn:ietf:params:oauth:token-type:id_token': 'issuer',
  'urn:ietf:params:oauth:token-type:jwt': 'issuer',
  [ACCESS_TOKEN]: 'server',
};

export function parseExchange(form: URLSearchParams): ExchangeRequest {
  const grantType = required(form, 'grant_type');
  if (grantType !== GRANT_TYPE)
    throw new AssayError('ASSAY_GRANT_TYPE', `"grant_type" must be ${GRANT_TYPE}`);
  const type = required(form, 'subject_token_type');
  const from = Object.hasOwn(FROM, type) ? FROM[type] : undefined;
  if (from === undefined)
    throw malformed(`"subject_token_type" must be one of ${Object.keys(FROM).join(', ')}`);
  if ((single(form, 'requested_token_type') ?? ACCESS_TOKEN) !== ACCESS_TOKEN)
    throw malformed(`"requested_token_type" must be ${ACCESS_TOKEN}`);
  if (form.has('actor_token')) throw malformed('"actor_token" is not supported');
  const scope = single(form, 'scope');
  return {
    subjectToken: required(form, 'subject_token'),
    from,
    scope: scope === undefined ? undefined : rightsIn(scope),
    audience: single(form, 'audience'),
  };
}

function required(form: URLSearchParams, name: string): string {
  const value = single(form, name);
  if (value === undefined) throw malformed(`${JSON.stringify(name)} is missing`);
  return value;
}

/** OAuth forbids a parameter twice, and treats an empty one as missing. */
function single(form: URLSearchParams, name: string): string | undefined {
  const values = form.getAll(name);
  if (values.length > 1) throw malformed(`${JSON.stringify(name)} is given twice`);
  return values[0] || undefined;
}

/** Rights, or short names for several, with spaces between them. */
function rightsIn(scope: string): ReadonlySet<Right> {
  const rights = new Set<Right>();
  for (const name of scope.split(' ').filter(Boolean)) {
    const named = name.includes(',') ? undefined : parseRights(name);
    if (!named) throw new AssayError('ASSAY_TOKEN_SCOPE', 'the scope names a right that does not exist');
    for (const right of named) rights.add(right);
  }
  return rights;
}

function malformed(why: string): AssayError {
  return new AssayError('ASSAY_BAD_MESSAGE', why);
}
