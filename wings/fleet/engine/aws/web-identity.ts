// Credentials of a role, for the token of a workload: a projected service account token of Kubernetes, for example.
// The token file is read for each renewal, because the platform replaces it.
import { hostname } from 'node:os';
import { ask } from './ask.ts';
import { type CredentialSource, CredentialsRefused, credentialsOf, readSecretFile } from './credentials.ts';
import { elementText } from './xml.ts';

interface WebIdentity {
  readonly tokenFile: string;
  readonly role: string;
  readonly sessionName?: string | undefined;
  /** Of the security token service. */
  readonly endpoint: URL;
}

export function webIdentityCredentials({
  tokenFile,
  role,
  sessionName,
  endpoint,
}: WebIdentity): CredentialSource {
  return {
    name: `the token service at ${endpoint.host}`,
    isRenewable: true,
    async read() {
      const form = new URLSearchParams({
        Action: 'AssumeRoleWithWebIdentity',
        Version: '2011-06-15',
        RoleArn: role,
        RoleSessionName: sessionName ?? nameOfThisMachine(),
        WebIdentityToken: await tokenIn(tokenFile),
      });
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      const { status, text, time } = await ask({
        url: endpoint,
        method: 'POST',
        headers,
        body: form.toString(),
      });
      if (status !== 200) throw refusalOf(endpoint, role, status, elementText(text, 'Code'));
      const accessKey = elementText(text, 'AccessKeyId');
      const secretKey = elementText(text, 'SecretAccessKey');
      if (!accessKey || !secretKey) throw new Error('its answer holds no credentials');
      const validMs = Date.parse(elementText(text, 'Expiration') ?? '') - time;
      return {
        credentials: credentialsOf(accessKey, secretKey, elementText(text, 'SessionToken')),
        validMs: Number.isNaN(validMs) ? undefined : validMs,
      };
    },
  };
}

async function tokenIn(file: string): Promise<string> {
  const token = (await readSecretFile(file)).trim();
  if (token === '') throw new CredentialsRefused(`${file} is empty`);
  return token;
}

/** What passes by itself. The token may be replaced a moment later, so an old one is not final either. */
const PASSING = new Set([
  'ExpiredTokenException',
  'IDPCommunicationError',
  'Throttling',
  'ThrottlingException',
]);

function refusalOf(endpoint: URL, role: string, status: number, code = `status ${status}`): Error {
  if (status >= 500 || PASSING.has(code)) return new Error(`it answered ${status} ${code}`);
  return new CredentialsRefused(
    `the token service at ${endpoint.host} does not give the role ${role} for the token of AWS_WEB_IDENTITY_TOKEN_FILE: ${code}`,
  );
}

/** For the log of the token service. */
function nameOfThisMachine(): string {
  return `assay-${hostname().replaceAll(/[^\w+=,.@-]/g, '-')}`.slice(0, 64);
}
