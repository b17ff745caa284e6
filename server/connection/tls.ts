// What a server shows in a TLS handshake, and whom it lets in: read from files that the command line names.
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { AssayError, messageOf } from '../../core/errors.ts';

export interface TlsIdentity {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** Clients must show a certificate that one of these has signed. */
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

/** Refuses files that can't be read or don't fit together, before anything listens. */
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
