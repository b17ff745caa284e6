// The server's TLS identity: certificate, key and client CAs, read from the files that the command line
// names. Guarantee: a TlsIdentity has passed createSecureContext, so its certificate and key match.
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { AssayError, messageOf } from '../../core/errors.ts';

export interface TlsIdentity {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** Clients must present a certificate signed by one of these. */
  readonly ca?: Buffer;
  readonly requestCert?: boolean;
  readonly rejectUnauthorized?: boolean;
  readonly minVersion: 'TLSv1.2';
}

export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
  readonly clientCa?: string | undefined;
}

/** Throws ASSAY_BAD_CERTIFICATE for files that cannot be read or do not match, before the server listens. */
export function loadTlsIdentity({ cert, key, clientCa }: TlsFiles): TlsIdentity {
  try {
    const identity: TlsIdentity = {
      cert: readFileSync(cert),
      key: readFileSync(key),
      minVersion: 'TLSv1.2',
      ...(clientCa !== undefined && {
        ca: readFileSync(clientCa),
        requestCert: true,
        rejectUnauthorized: true,
      }),
    };
    createSecureContext(identity);
    return identity;
  } catch (cause) {
    throw new AssayError('ASSAY_BAD_CERTIFICATE', messageOf(cause), { cause });
  }
}
