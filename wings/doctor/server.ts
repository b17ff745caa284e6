// Checks a server from outside, as clients and operators meet it: through its proxy, with a token or without.
// It asks for a result that does not exist, and writes nothing.
import { randomBytes } from 'node:crypto';
import { authorization } from '../../client/remote/authorization.ts';
import { openRemote } from '../../client/remote/open.ts';
import { parseRemoteUrl, serverAddress } from '../../client/remote/url.ts';
import { inOneLine } from '../../client/terminal/sync-stream.ts';
import { digestOf } from '../../core/digest.ts';
import { messageOf } from '../../core/errors.ts';
import { bytes } from '../../core/text/amounts.ts';
import { VERSION } from '../../core/version.ts';
import { type DoctorFinding, ill, illBecause, notice, well } from './finding.ts';
import { DOCTOR } from './limits.ts';
import { checkToken } from './remote.ts';

interface Answer {
  readonly status: number;
  readonly text: string;
  /** The server's clock, in milliseconds since 1970; NaN if it does not say. */
  readonly date: number;
  readonly tookMs: number;
}

type Ask = (path: string, headers?: Readonly<Record<string, string>>) => Promise<Answer>;

export async function checkServer(text: string, token: string | undefined): Promise<DoctorFinding[]> {
  let url: URL;
  try {
    url = parseRemoteUrl(text);
  } catch (error) {
    return [illBecause('server', error, 'Correct --server.')];
  }
  const ask = asker(serverAddress(url));
  try {
    const status = await ask('/status');
    return [
      identity(url, status),
      ...clock(status),
      readiness(await ask('/readyz')),
      await grpc(url, token),
      access(url, await ask(`/ac/${digestOf(randomBytes(16)).hash}`)),
      ...(await checkToken(url, token)),
      ...figures(await ask('/metrics', authorization(url, token))),
    ];
  } catch (error) {
    return [
      ill(
        'server',
        `${url.host}: ${messageOf(error)}`,
        'Check the address, the certificate, and that the server runs. Builds go on without it.',
      ),
    ];
  }
}

function asker(address: string): Ask {
  return async (path, headers = {}) => {
    const { request } = await import('undici');
    const began = performance.now();
    const signal = AbortSignal.timeout(DOCTOR.serverMs);
    const { statusCode, headers: given, body } = await request(`${address}${path}`, { headers, signal });
    const tookMs = Math.round(performance.now() - began);
    return { status: statusCode, text: await body.text(), date: Date.parse(String(given.date)), tookMs };
  };
}

function identity({ host }: URL, { status, text, tookMs }: Answer): DoctorFinding {
  const version = status === 200 ? versionIn(text) : undefined;
  if (version === undefined)
    return ill(
      'server',
      `${host} answers /status with ${status}, and is no Assay server`,
      'Check the address and the proxy: it must pass every path on.',
    );
  const detail = `${host} is Assay ${version}, and answers in ${tookMs} ms`;
  return releasesApart(version, VERSION) <= 1
    ? well('server', detail)
    : notice(
        'server',
        `${detail}; this is Assay ${VERSION}`,
        'Keep clients and servers at most one release apart.',
      );
}

function versionIn(text: string): string | undefined {
  try {
    const { name, version }: { name?: unknown; version?: unknown } = Object(JSON.parse(text));
    return name === 'assay' && typeof version === 'string' ? inOneLine(version) : undefined;
  } catch {
    return undefined;
  }
}

/** By the minor version; releases of two major versions are never neighbours. */
function releasesApart(one: string, other: string): number {
  const [major, minor = 0] = one.split('.').map(Number);
  const [otherMajor, otherMinor = 0] = other.split('.').map(Number);
  return major === otherMajor ? Math.abs(minor - otherMinor) : Number.POSITIVE_INFINITY;
}

function clock({ date }: Answer): DoctorFinding[] {
  if (Number.isNaN(date)) return [];
  const seconds = Math.round(Math.abs(Date.now() - date) / 1000);
  const detail = `the clocks of the server and of this machine differ by ${seconds} s`;
  return seconds * 1000 <= DOCTOR.serverSkewMs
    ? [well('clock', detail)]
    : [
        notice(
          'clock',
          detail,
          'Set both by NTP: tokens of CI jobs are refused before and after their time.',
        ),
      ];
}

function readiness({ status, text }: Answer): DoctorFinding {
  return status === 200
    ? well('ready', '/readyz answers 200')
    : ill(
        'ready',
        `/readyz answers ${status}: ${inOneLine(text).slice(0, DOCTOR.shownText)}`,
        'See Health in `assay help server`. Do not restart the server for it: its reads go on.',
      );
}

/** Bazel, BuildKit and others speak gRPC, which a proxy passes on only if it is told to. */
async function grpc(url: URL, token: string | undefined): Promise<DoctorFinding> {
  const address = new URL(`${url.protocol.replace(/^http/, 'grpc')}//${url.host}`);
  const remote = await openRemote({ url: address, token, now: Date.now });
  try {
    await remote.getResult(digestOf(randomBytes(16)));
    return well('grpc', `${address.protocol}//${address.host} answers`);
  } catch (error) {
    if (REFUSED.test(messageOf(error))) return well('grpc', 'it arrives; a token is needed');
    return notice(
      'grpc',
      `${address.protocol}//${address.host}: ${messageOf(error)}`,
      'If clients use gRPC, let the proxy pass HTTP/2 on (`assay help operate`).',
    );
  } finally {
    await remote.close();
  }
}

/** A gRPC status, so the request has reached the server. */
const REFUSED = /answered (?:UNAUTHENTICATED|PERMISSION_DENIED)/;
const LOCAL = /^(localhost|\[::1\]|127\..*)$/;

/** `answer`: to a request without a token. */
function access({ hostname }: URL, { status }: Answer): DoctorFinding {
  if (status === 401 || status === 403) return well('access', 'requests without a token are refused');
  const detail = 'requests without a token may read results';
  return LOCAL.test(hostname)
    ? well('access', detail)
    : notice(
        'access',
        detail,
        'Start it with --tokens, unless everybody who reaches it may read (`assay help trust`).',
      );
}

/** What the operator should look at, if the token has the right `server:stats`. */
function figures({ status, text }: Answer): DoctorFinding[] {
  const value = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
  const [used, limit] = [value('assay_store_bytes'), value('assay_store_limit_bytes')];
  if (status !== 200 || Number.isNaN(used) || Number.isNaN(limit))
    return [well('figures', 'not shown to this token: that takes the right server:stats')];
  const damage = /^assay_store_events_total\{event="(?:quarantined|lost)"\} [1-9]/m.test(text);
  return [
    well('figures', `the store has ${bytes(used)} of ${bytes(limit)}`),
    damage
      ? notice(
          'damage',
          'content of the store was damaged since the server started; it was not served',
          'Check disk and memory of that machine, and run `assay verify` there.',
        )
      : well('damage', 'none since the server started'),
  ];
}
