// Exchanges the token of a job for one of the server: POST /auth/token, RFC 8693.
// Guarantee: a text of the server is printed without control characters, and never with the job's token in it.

import { AssayError } from '../../../core/errors.ts';
import { visible } from '../../../core/text/visible.ts';
import { LOGIN } from '../limits.ts';
import { askJson } from './ask-json.ts';

export interface ServerToken {
  readonly token: string;
  readonly accessKey: string;
  readonly secretKey: string;
  readonly namespace: string;
  readonly reads: readonly string[];
  readonly rights: readonly string[];
  readonly expiresInSeconds: number;
}

const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ID_TOKEN = 'urn:ietf:params:oauth:token-type:id_token';

/** They go into files of variables and into commands of CI services, so they hold no space and no line break. */
const SECRET = /^[\x21-\x7e]{1,8192}$/;

export async function exchangeToken(
  origin: URL,
  idToken: string,
  scope: string | undefined,
): Promise<ServerToken> {
  const form = new URLSearchParams({
    grant_type: GRANT_TYPE,
    subject_token: idToken,
    subject_token_type: ID_TOKEN,
  });
  if (scope !== undefined) form.set('scope', scope);
  const { status, value } = await askJson(new URL('/auth/token', origin), {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: form.toString(),
  });
  if (status !== 200) throw refusal(origin, status, value, idToken);
  const token = serverToken(value);
  if (!token) throw new AssayError('ASSAY_LOGIN', `${origin.origin} answered with no token`);
  return token;
}

function serverToken(value: unknown): ServerToken | undefined {
  const fields: Record<string, unknown> = Object(value);
  const text = (name: string) => (typeof fields[name] === 'string' ? fields[name] : '');
  const secrets = [text('access_token'), text('s3_access_key'), text('s3_secret_key')];
  const [token = '', accessKey = '', secretKey = ''] = secrets;
  if (!secrets.every((secret) => SECRET.test(secret))) return undefined;
  return {
    token,
    accessKey,
    secretKey,
    namespace: visible(text('namespace')),
    reads: Array.isArray(fields.reads) ? fields.reads.map((one) => visible(String(one))) : [],
    rights: visible(text('scope')).split(' '),
    expiresInSeconds: Number(fields.expires_in) || 0,
  };
}

function refusal({ origin }: URL, status: number, value: unknown, idToken: string): AssayError {
  const { error_description: why, code }: Record<string, unknown> = Object(value);
  const said = [code, why].filter((one) => typeof one === 'string').join(': ');
  const safe = visible(said.replaceAll(idToken, '…')).slice(0, LOGIN.maxReasonLength);
  return new AssayError('ASSAY_LOGIN', `${origin} answered ${status}${safe === '' ? '' : `: ${safe}`}`);
}
