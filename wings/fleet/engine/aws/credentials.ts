// What signs a request to the bucket, and where it comes from.
// The secret parts lie behind functions, so that printing or logging credentials reveals nothing.
import { readFile } from 'node:fs/promises';
import { AssayError } from '../../../../core/errors.ts';

export interface Credentials {
  readonly accessKey: string;
  readonly secretKey: () => string;
  /** Of temporary credentials. */
  readonly sessionToken?: (() => string) | undefined;
}

export interface IssuedCredentials {
  readonly credentials: Credentials;
  /** How long they are valid. Undefined: without an end. */
  readonly validMs?: number | undefined;
  /** When to read them again although they are valid. */
  readonly readAgainMs?: number | undefined;
}

export interface CredentialSource {
  /** For messages. */
  readonly name: string;
  /** False if reading again gives the same. */
  readonly isRenewable: boolean;
  /** Throws CredentialsRefused if asking again is of no use, and any other error if it may be. */
  read(): Promise<IssuedCredentials>;
}

/** A source of credentials says no. The detail says what to change. */
export class CredentialsRefused extends AssayError {
  constructor(detail: string) {
    super('ASSAY_BUCKET_AWAY', detail);
  }
}

export function credentialsOf(accessKey: string, secretKey: string, sessionToken?: string): Credentials {
  return {
    accessKey,
    secretKey: () => secretKey,
    ...(sessionToken ? { sessionToken: () => sessionToken } : {}),
  };
}

export function fixedCredentials(credentials: Credentials): CredentialSource {
  return { name: 'AWS_ACCESS_KEY_ID', isRenewable: false, read: async () => ({ credentials }) };
}

/** A token or keys. A file that can't be read is a mistake of the set-up; its error names no content. */
export async function readSecretFile(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown failure';
    throw new CredentialsRefused(`${file} can’t be read: ${code}`);
  }
}
