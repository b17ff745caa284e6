// Credentials that a machine or a container gets from the platform it runs on, as JSON.
//
// - `containerCredentials`: an agent of ECS, or EKS Pod Identity.
// - `instanceCredentials`: the metadata service of EC2, version 2. Its session token needs a PUT, which a proxy that is
//   tricked into a GET can't send.
import { ask, type CredentialAnswer } from './ask.ts';
import {
  type CredentialSource,
  CredentialsRefused,
  credentialsOf,
  type IssuedCredentials,
  readSecretFile,
} from './credentials.ts';
import { AWS } from './limits.ts';

interface ContainerSettings {
  readonly url: URL;
  /** Sent with each question. The file is read each time: the platform replaces it. */
  readonly authorization?: { readonly file: string } | { readonly text: () => string } | undefined;
}

export function containerCredentials({ url, authorization }: ContainerSettings): CredentialSource {
  const name = `the container’s credentials at ${url.host}`;
  return {
    name,
    isRenewable: true,
    async read() {
      const token =
        authorization &&
        ('file' in authorization ? await readSecretFile(authorization.file) : authorization.text());
      const headers = token === undefined ? {} : { authorization: token.trim() };
      return issuedBy(name, await ask({ url, headers }));
    },
  };
}

export function instanceCredentials(endpoint: URL): CredentialSource {
  const name = `the instance’s metadata at ${endpoint.host}`;
  const at = (path: string) => new URL(`/latest/${path}`, endpoint);
  const answerMs = AWS.metadataMs;
  return {
    name,
    isRenewable: true,
    async read() {
      const ttl = { 'x-aws-ec2-metadata-token-ttl-seconds': String(AWS.metadataTokenSeconds) };
      const session = await ask({ url: at('api/token'), method: 'PUT', headers: ttl, answerMs });
      const headers = { 'x-aws-ec2-metadata-token': wellDone(name, session).text };
      const roles = await ask({ url: at(ROLES), headers, answerMs });
      if (roles.status === 404) throw new CredentialsRefused(`${name}: this instance has no role`);
      const [role = ''] = wellDone(name, roles).text.split('\n', 1);
      return issuedBy(
        name,
        await ask({ url: at(ROLES + encodeURIComponent(role.trim())), headers, answerMs }),
      );
    },
  };
}

const ROLES = 'meta-data/iam/security-credentials/';

function issuedBy(name: string, answer: CredentialAnswer): IssuedCredentials {
  const { AccessKeyId, SecretAccessKey, Token, Expiration } = objectIn(wellDone(name, answer).text);
  if (typeof AccessKeyId !== 'string' || typeof SecretAccessKey !== 'string' || typeof Token !== 'string')
    throw new Error('its answer holds no credentials');
  const validMs = Date.parse(String(Expiration)) - answer.time;
  return {
    credentials: credentialsOf(AccessKeyId, SecretAccessKey, Token),
    validMs: Number.isNaN(validMs) ? undefined : validMs,
  };
}

/** A 4xx stays one, but for "too many": somebody must change something. */
function wellDone(name: string, answer: CredentialAnswer): CredentialAnswer {
  const { status } = answer;
  if (status === 200) return answer;
  if (status >= 400 && status < 500 && status !== 429)
    throw new CredentialsRefused(`${name} answered ${status}`);
  throw new Error(`it answered ${status}`);
}

/** The error of JSON.parse would quote the text, which holds a secret. */
function objectIn(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text));
  } catch {
    throw new Error('its answer is not JSON');
  }
}
