// Checks the remote as a run would: asks for a result that does not exist. Writes nothing there.
import { randomBytes } from 'node:crypto';
import { authorization } from '../../client/remote/authorization.ts';
import { openRemote } from '../../client/remote/open.ts';
import { isTokenVisible } from '../../client/remote/token.ts';
import { parseRemoteUrl, serverAddress } from '../../client/remote/url.ts';
import { inOneLine } from '../../client/terminal/sync-stream.ts';
import { digestOf } from '../../core/digest.ts';
import { messageOf } from '../../core/errors.ts';
import { TOKEN_PATH, type TokenInfo } from '../../core/metadata/token-info.ts';
import { type DoctorFinding, ill, illBecause, notice, well } from './finding.ts';
import { DOCTOR } from './limits.ts';

export async function checkRemote(
  text: string | undefined,
  token: string | undefined,
): Promise<DoctorFinding[]> {
  if (!text) return [well('remote', 'none; set ASSAY_REMOTE to share results')];
  try {
    const url = parseRemoteUrl(text);
    const answer = await answers(url, token);
    return [answer, ...(answer.state === 'ill' ? secrecy(url, token) : await checkToken(url, token))];
  } catch (error) {
    return [illBecause('remote', error, 'Correct ASSAY_REMOTE or --remote.')];
  }
}

/** What the token may do, and who may see it. */
export async function checkToken(url: URL, token: string | undefined): Promise<DoctorFinding[]> {
  const known = await scope(url, token);
  return [...(known ? [known] : []), ...secrecy(url, token)];
}

async function answers(url: URL, token: string | undefined): Promise<DoctorFinding> {
  const remote = await openRemote({ url, token, now: Date.now });
  const began = performance.now();
  try {
    await remote.getResult(digestOf(randomBytes(16)));
    const ms = Math.round(performance.now() - began);
    const detail = `${nameOf(url)} answers in ${ms} ms`;
    return ms < DOCTOR.slowRemoteMs
      ? well('remote', detail)
      : notice('remote', detail, 'A nearer remote saves that time on every miss.');
  } catch (error) {
    return ill(
      'remote',
      `${nameOf(url)}: ${messageOf(error)}`,
      'Check the address and ASSAY_TOKEN. Runs work without the remote, but share nothing.',
    );
  } finally {
    await remote.close();
  }
}

/** What the server says of the token. Undefined if it can't tell: it is no Assay server, or an older one. */
async function scope(url: URL, token: string | undefined): Promise<DoctorFinding | undefined> {
  const { request } = await import('undici');
  try {
    const answer = await request(`${serverAddress(url)}${TOKEN_PATH}`, {
      headers: authorization(url, token),
      signal: AbortSignal.timeout(DOCTOR.tokenInfoMs),
    });
    const text = await answer.body.text();
    return answer.statusCode === 200 ? well('token', inOneLine(scopeText(JSON.parse(text)))) : undefined;
  } catch {
    return undefined;
  }
}

function scopeText({ name, namespace, reads, rights, expiresAt }: TokenInfo): string {
  const own = namespace === '' ? 'the whole server' : namespace;
  const besides = reads.length === 0 ? '' : `, reads also ${reads.join(', ')}`;
  const end = expiresAt === undefined ? '' : `; until ${expiresAt}`;
  return `${name}: ${own}${besides}; rights ${rights.join(', ')}${end}`;
}

function secrecy(url: URL, token: string | undefined): DoctorFinding[] {
  return [...visibility(), ...encryption(url, token)];
}

/** Warns about a token that a command could read in /proc. */
function visibility(): DoctorFinding[] {
  if (!isTokenVisible()) return [];
  const mend = 'Mount /proc writable, or give commands that you do not trust no token.';
  return [notice('token', 'a command can read it from /proc, because /proc/self/mem is not writable', mend)];
}

/** Warns about a token that travels unencrypted. */
function encryption(url: URL, token: string | undefined): DoctorFinding[] {
  const isClear = url.protocol === 'http:' || url.protocol === 'grpc:';
  const isNear = url.hostname === 'localhost' || url.hostname === '[::1]' || url.hostname.startsWith('127.');
  if (!isClear || isNear || (!token && !url.password)) return [];
  return [notice('token', `it travels unencrypted to ${url.hostname}`, 'Use https:// or grpcs://.')];
}

/** Without user name, password and query, which may be secret. */
function nameOf({ protocol, host, pathname }: URL): string {
  return `${protocol}//${host}${pathname}`;
}
