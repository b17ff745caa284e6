// Hands the token to the next commands of a job: as variables of GitHub, or in a file that a shell reads.
//
// Guarantees: GitHub is told to mask each secret before it is written anywhere. The file can be read by its
// owner alone, and appears whole.
import { appendFileSync } from 'node:fs';
import { AssayError, messageOf } from '../../../core/errors.ts';
import { replaceFile } from '../../../system/files/replace-file.ts';
import type { ServerToken } from './exchange.ts';

export type LoginVariables = Readonly<Record<string, string>>;

interface Wanted {
  /** S3's variables too. */
  readonly s3: boolean;
  /** More variables with the token. */
  readonly names: readonly string[];
}

export function loginVariables(
  { token, accessKey, secretKey }: ServerToken,
  { s3, names }: Wanted,
): LoginVariables {
  return {
    ASSAY_TOKEN: token,
    ...Object.fromEntries(names.map((name) => [name, token])),
    ...(s3 && { AWS_ACCESS_KEY_ID: accessKey, AWS_SECRET_ACCESS_KEY: secretKey }),
  };
}

/** Commands of GitHub. Its runner reads them on standard error too, so --print stays the token alone. */
export function maskCommands(issued: ServerToken, given: ServerToken = issued): string {
  const parts = [issued.token, issued.secretKey];
  const ofJwt = given.token === issued.token ? [] : [given.token, given.token.split('.').at(-1)];
  return [...parts, ...ofJwt].map((secret) => `::add-mask::${secret}\n`).join('');
}

/** `file` is $GITHUB_ENV: the next steps of the job have the variables. */
export function addToGitHub(file: string, variables: LoginVariables): void {
  const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`);
  write(file, () => appendFileSync(file, lines.join('')));
}

/** Lines for `. FILE`. No value holds a quote that could end the text. */
export function writeForShell(file: string, variables: LoginVariables): void {
  const lines = Object.entries(variables).map(
    ([name, value]) => `export ${name}='${value.replaceAll("'", "'\\''")}'\n`,
  );
  write(file, () => replaceFile(file, lines.join(''), 0o600));
}

function write(file: string, action: () => void): void {
  try {
    action();
  } catch (error) {
    throw new AssayError('ASSAY_LOGIN', `${file}: ${messageOf(error)}`, { cause: error });
  }
}
