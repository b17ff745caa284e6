// Certificates for a test: an authority, and a server and a client that it vouches for. Made by openssl,
// valid for a day.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Certificates {
  readonly ca: string;
  readonly server: { readonly cert: string; readonly key: string };
  readonly client: { readonly cert: string; readonly key: string };
  /** Signed by nobody but itself. */
  readonly stranger: { readonly cert: string; readonly key: string };
}

/** `names`: who may use the certificates of the server and the client. */
export function makeCertificates(folder: string, names = 'IP:127.0.0.1,DNS:localhost'): Certificates {
  const at = (name: string) => join(folder, name);
  const openssl = (...args: readonly string[]) =>
    execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const selfSigned = (name: string) => {
    const files = ['-keyout', at(`${name}.key`), '-out', at(`${name}.crt`)];
    openssl(
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '1',
      '-subj',
      `/CN=${name}`,
      ...files,
    );
    return { cert: at(`${name}.crt`), key: at(`${name}.key`) };
  };
  const signed = (name: string) => {
    const key = ['-keyout', at(`${name}.key`), '-out', at(`${name}.csr`)];
    openssl(
      'req',
      '-new',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-subj',
      `/CN=${name}`,
      ...key,
    );
    writeFileSync(at(`${name}.ext`), `subjectAltName=${names}\n`);
    const authority = [
      '-CA',
      at('ca.crt'),
      '-CAkey',
      at('ca.key'),
      '-CAcreateserial',
      '-extfile',
      at(`${name}.ext`),
    ];
    openssl('x509', '-req', '-days', '1', '-in', at(`${name}.csr`), '-out', at(`${name}.crt`), ...authority);
    return { cert: at(`${name}.crt`), key: at(`${name}.key`) };
  };
  const { cert: ca } = selfSigned('ca');
  return { ca, server: signed('server'), client: signed('client'), stranger: selfSigned('stranger') };
}
