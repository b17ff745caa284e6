// How to connect to the PostgreSQL of a URL: with TLS and a verified certificate, unless it is on this machine or the URL
// says otherwise (`sslmode`, wings/fleet/GUIDE.md). A password never crosses a network in the clear by default.
import type pg from 'pg';
import { AssayError, messageOf } from '../../../../core/errors.ts';
import { isLoopback } from '../../../../store/shared/loopback.ts';

/** PostgreSQL is there, and will refuse the next connection too. Somebody must change the set-up. */
export class IndexRefusal extends AssayError {
  constructor(detail: string) {
    super('ASSAY_INDEX_AWAY', detail);
  }
}

/** Those that the driver knows. It verifies the certificate and the name for all but the first two. */
const MODES = ['disable', 'no-verify', 'prefer', 'require', 'verify-ca', 'verify-full'];
/** Parameters by which a URL speaks about TLS. */
const ABOUT_TLS = ['sslmode', 'ssl', 'sslcert', 'sslkey', 'sslrootcert', 'sslnegotiation'];

/** `Client` is the driver's: it knows how to read the URL. Throws ASSAY_USAGE without a part of the URL in it. */
export function connectionOf(url: string, Client: typeof pg.Client): pg.ClientConfig {
  const given = URL.parse(url)?.searchParams;
  const mode = given?.get('sslmode');
  if (mode && !MODES.includes(mode))
    throw new AssayError('ASSAY_USAGE', `sslmode of --index is one of ${MODES.join(', ')}`);
  // The driver treats these three as verify-full, and warns on standard error that this will change.
  const connectionString = given?.has('uselibpqcompat')
    ? url
    : url.replace(/(?<=[?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/, 'verify-full');
  const isAboutTls = process.env.PGSSLMODE || ABOUT_TLS.some((name) => given?.has(name));
  const host = hostOf(connectionString, Client);
  const isPlain = isAboutTls || isOnThisMachine(host);
  return { connectionString, ...(isPlain ? {} : { ssl: { rejectUnauthorized: true } }) };
}

function hostOf(connectionString: string, Client: typeof pg.Client): string {
  try {
    return new Client({ connectionString }).host;
  } catch {
    throw new AssayError(
      'ASSAY_USAGE',
      '--index takes postgres://USER:PASSWORD@HOST:PORT/DB; a file that it names must exist',
    );
  }
}

/** A path is the folder of a socket. */
function isOnThisMachine(host: string): boolean {
  return host.startsWith('/') || isLoopback(host);
}

/** The same error, or what to change so that PostgreSQL accepts the connection. */
export function explained(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const said = messageOf(error);
  if (said === NO_TLS)
    return refusal(
      'it offers no TLS: turn `ssl` on there, or add sslmode=disable to --index if you trust the network',
    );
  if (/^(ERR_TLS_|CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_)/.test(code))
    return refusal(
      `its certificate is not trusted (${code}: ${said}): name the authority by sslrootcert=FILE in --index, or add ` +
        'sslmode=no-verify if you trust the network',
    );
  if (/^(28|3D000)/.test(code)) return refusal(said);
  return error;
}

/** As the driver says it. */
const NO_TLS = 'The server does not support SSL connections';

function refusal(detail: string): IndexRefusal {
  return new IndexRefusal(`PostgreSQL: ${detail}`);
}
