// Which source gives the credentials, by the AWS_… variables that AWS's own tools read. The first that is set up wins:
// keys in the environment, a web identity, a credentials file, the container's agent, the instance's metadata.
// No value of a variable is part of an error.
import { AssayError, messageOf } from '../../../../core/errors.ts';
import { isLoopback } from '../../../../store/shared/loopback.ts';
import { type CredentialSource, CredentialsRefused, credentialsOf, fixedCredentials } from './credentials.ts';
import { fileCredentials } from './credentials-file.ts';
import { containerCredentials, instanceCredentials } from './metadata.ts';
import { webIdentityCredentials } from './web-identity.ts';

export type AwsEnvironment = Readonly<Record<string, string | undefined>>;

export function credentialSource(environment: AwsEnvironment, region: string): CredentialSource {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SHARED_CREDENTIALS_FILE, AWS_PROFILE } = environment;
  if (AWS_ACCESS_KEY_ID || AWS_SECRET_ACCESS_KEY) return fromKeys(environment);
  if (environment.AWS_WEB_IDENTITY_TOKEN_FILE) return fromWebIdentity(environment, region);
  if (AWS_SHARED_CREDENTIALS_FILE)
    return fileCredentials(AWS_SHARED_CREDENTIALS_FILE, AWS_PROFILE || 'default');
  return fromContainer(environment) ?? fromInstance(environment);
}

function fromKeys(environment: AwsEnvironment): CredentialSource {
  const accessKey = required(environment, 'AWS_ACCESS_KEY_ID');
  const secretKey = required(environment, 'AWS_SECRET_ACCESS_KEY');
  return fixedCredentials(credentialsOf(accessKey, secretKey, environment.AWS_SESSION_TOKEN));
}

function fromWebIdentity(environment: AwsEnvironment, region: string): CredentialSource {
  const given = environment.AWS_ENDPOINT_URL_STS || environment.AWS_ENDPOINT_URL;
  return webIdentityCredentials({
    tokenFile: required(environment, 'AWS_WEB_IDENTITY_TOKEN_FILE'),
    role: required(environment, 'AWS_ROLE_ARN'),
    sessionName: environment.AWS_ROLE_SESSION_NAME || undefined,
    endpoint: given
      ? httpUrl(given, 'AWS_ENDPOINT_URL_STS')
      : new URL(`https://sts.${region}.${domainOf(region)}`),
  });
}

/** Where a container's agent may be, besides this machine and any address with TLS. */
const AGENTS = new Set(['169.254.170.2', '169.254.170.23', '[fd00:ec2::23]']);

function fromContainer(environment: AwsEnvironment): CredentialSource | undefined {
  const relative = environment.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI;
  const text = relative ? `http://169.254.170.2${relative}` : environment.AWS_CONTAINER_CREDENTIALS_FULL_URI;
  if (!text) return undefined;
  const url = httpUrl(text, 'AWS_CONTAINER_CREDENTIALS_FULL_URI');
  if (
    url.protocol !== 'https:' &&
    !AGENTS.has(url.hostname) &&
    !isLoopback(url.hostname.replace(/^\[|\]$/g, ''))
  )
    throw usage('AWS_CONTAINER_CREDENTIALS_FULL_URI must have https, or be an address of this machine');
  const { AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file, AWS_CONTAINER_AUTHORIZATION_TOKEN: token } =
    environment;
  const authorization = file ? { file } : token ? { text: () => token } : undefined;
  return containerCredentials({ url, authorization });
}

const METADATA = 'http://169.254.169.254';

/** Without any setting it is a guess: if nothing answers there, somebody forgot the credentials. */
function fromInstance(environment: AwsEnvironment): CredentialSource {
  const { AWS_EC2_METADATA_SERVICE_ENDPOINT: given, AWS_EC2_METADATA_DISABLED: disabled } = environment;
  if (disabled?.toLowerCase() === 'true') throw usage(NONE);
  if (given) return instanceCredentials(httpUrl(given, 'AWS_EC2_METADATA_SERVICE_ENDPOINT'));
  const source = instanceCredentials(new URL(METADATA));
  let hasAnswered = false;
  return {
    ...source,
    async read() {
      try {
        const issued = await source.read();
        hasAnswered = true;
        return issued;
      } catch (error) {
        throw hasAnswered ? error : new CredentialsRefused(`${NONE} (${messageOf(error)})`);
      }
    },
  };
}

const NONE =
  '--blobs needs credentials: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN, ' +
  'AWS_SHARED_CREDENTIALS_FILE, AWS_CONTAINER_CREDENTIALS_FULL_URI, or an instance with a role';

/** AWS's domain in that region. */
export function domainOf(region: string): string {
  return region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
}

/** The text is never part of an error: people write passwords into URLs. */
function httpUrl(text: string, name: string): URL {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password)
    throw usage(`${name} must be an address with http:// or https://, without a password`);
  return url;
}

function required(environment: AwsEnvironment, name: string): string {
  const value = environment[name];
  if (!value) throw usage(`--blobs needs the variable ${name}`);
  return value;
}

function usage(detail: string): AssayError {
  return new AssayError('ASSAY_USAGE', detail);
}
