// Credentials in a file of AWS's tools. It is read again each minute, and when the bucket refuses them: whoever rotates
// the keys writes a new file beside the old one and renames it.
import { type CredentialSource, CredentialsRefused, credentialsOf, readSecretFile } from './credentials.ts';
import { AWS } from './limits.ts';

export function fileCredentials(file: string, profile: string): CredentialSource {
  return {
    name: `[${profile}] in ${file}`,
    isRenewable: true,
    async read() {
      const values = sectionOf(await readSecretFile(file), profile);
      const accessKey = values.get('aws_access_key_id');
      const secretKey = values.get('aws_secret_access_key');
      if (!accessKey || !secretKey)
        throw new CredentialsRefused(
          `${file} has no aws_access_key_id and aws_secret_access_key under [${profile}]`,
        );
      return {
        credentials: credentialsOf(accessKey, secretKey, values.get('aws_session_token')),
        readAgainMs: AWS.fileMs,
      };
    },
  };
}

function sectionOf(text: string, profile: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  let isInside = false;
  for (const line of text.split('\n').map((one) => one.trim())) {
    const section = /^\[\s*(?<name>[^\]]*?)\s*\]$/.exec(line)?.groups?.name;
    if (section !== undefined) isInside = section === profile;
    const [name = '', ...rest] = line.split('=');
    if (isInside && rest.length > 0 && !/^[#;]/.test(line)) values.set(name.trim(), rest.join('=').trim());
  }
  return values;
}
