// The tokens file: {"tokens": […]}, with the SHA-256 of each token and what it may do.
//
// Guarantees:
// - It holds no token, so its content gives nobody access.
// - It is replaced in one step, and is on disk when `updateTokens` returns. A crash leaves the old or the new
//   one.
// - Changes of several processes are all kept (file-lock.ts).
// - A file with a field that this version does not know is refused: the field could restrict a token.
import { hash, randomBytes } from 'node:crypto';
import {
  fchmodSync,
  fchownSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { type ConfigValue, parseDocument } from '../../core/config/document.ts';
import { AssayError, isSystemError, messageOf } from '../../core/errors.ts';
import type { Namespace } from '../../core/namespace.ts';
import { asJwt } from '../../core/tokens/jwt.ts';
import { LockBusy, withFileLock } from '../../system/files/file-lock.ts';
import { syncNames, writeSynced } from '../../system/files/synced-file.ts';
import type { Identity } from './identity.ts';
import { namespaceAt, ownNamespaceAt } from './namespace-field.ts';
import { RIGHTS, type Right } from './rights.ts';

export interface TokenEntry {
  /** 12 hex digits. Several tokens may have one name; each has its own id. */
  readonly id: string;
  readonly name: string;
  /** The SHA-256 of the token in hex. */
  readonly sha256: string;
  readonly namespace: Namespace;
  readonly reads: readonly Namespace[];
  readonly rights: readonly Right[];
  /** Times are milliseconds since 1970. */
  readonly createdAt: number;
  readonly expiresAt?: number | undefined;
  readonly revokedAt?: number | undefined;
}

export type NewToken = Pick<TokenEntry, 'name' | 'namespace' | 'reads' | 'rights' | 'expiresAt'>;

type TokenState = 'valid' | 'expired' | 'revoked';

const ID = /^[0-9a-f]{12}$/;
const NAME = /^[0-9A-Za-z][0-9A-Za-z._@:/+-]{0,127}$/;
const PREFIX = 'assay_';

/** Names are in logs and tables. A name that looks like an id could not be told from one. */
export function isTokenName(text: string): boolean {
  return NAME.test(text) && !ID.test(text);
}

/** A random token, and its entry. `form`: a JWT has its random bits in the third part; all of it is the token. */
export function makeToken(
  wanted: NewToken,
  now: number,
  form: 'plain' | 'jwt' = 'plain',
): { token: string; entry: TokenEntry } {
  const bits = randomBytes(32);
  const token = form === 'plain' ? plainToken(bits) : jwtToken(bits, wanted);
  const id = randomBytes(6).toString('hex');
  return { token, entry: { id, sha256: tokenHash(token), createdAt: now, ...wanted } };
}

/** In hex: no tool, URL or shell treats a character of it specially. */
function plainToken(bits: Buffer): string {
  return `${PREFIX}${bits.toString('hex')}`;
}

function jwtToken(bits: Buffer, { namespace, reads, rights, expiresAt }: NewToken): string {
  const mayRead = rights.includes('results:read');
  const mayWrite = rights.includes('results:write');
  return asJwt(bits.toString('base64url'), { namespace, reads, mayRead, mayWrite, expiresAt });
}

export function tokenHash(token: string): string {
  return hash('sha256', token);
}

export function stateOf({ expiresAt, revokedAt }: TokenEntry, now: number): TokenState {
  if (revokedAt !== undefined) return 'revoked';
  return expiresAt !== undefined && expiresAt <= now ? 'expired' : 'valid';
}

export function identityOf({ name, rights, namespace, reads, expiresAt }: TokenEntry): Identity {
  return { name, rights: new Set(rights), namespace, reads, expiresAt };
}

/** Undefined if there is no file. Throws ASSAY_TOKENS_FILE if it cannot be read or is not valid. */
export function readTokens(file: string): TokenEntry[] | undefined {
  try {
    return parseTokens(file, readFileSync(file, 'utf8'));
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return undefined;
    throw asTokensFileError(file, error);
  }
}

/** Replaces the file's entries by what `change` returns. Creates the file if it is missing. */
export async function updateTokens(
  file: string,
  change: (entries: readonly TokenEntry[]) => readonly TokenEntry[],
): Promise<void> {
  try {
    const target = resolveLinks(file);
    statSync(dirname(target));
    await withFileLock(`${target}.lock`, (lock) => {
      const text = encodeTokens(change(readTokens(target) ?? []));
      parseTokens(file, text);
      replaceFile(target, text, () => lock.check());
    });
  } catch (error) {
    throw asTokensFileError(file, error);
  }
}

function asTokensFileError(file: string, error: unknown): AssayError {
  if (error instanceof AssayError) return error;
  if (error instanceof LockBusy) return new AssayError('ASSAY_TOKENS_BUSY', error.message, { cause: error });
  return new AssayError('ASSAY_TOKENS_FILE', `${file}: ${messageOf(error)}`, { cause: error });
}

/** A rename would replace a link, and leave the file that it names unchanged. */
function resolveLinks(file: string): string {
  try {
    return realpathSync(file);
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return file;
    throw error;
  }
}

/** The caller has the lock, so no other process uses the temporary name. */
function replaceFile(target: string, text: string, checkLock: () => void): void {
  const temporary = `${target}.new`;
  rmSync(temporary, { force: true });
  const old = statSync(target, { throwIfNoEntry: false });
  writeSynced(temporary, text, old && ((descriptor) => keepOwner(descriptor, old)));
  checkLock();
  renameSync(temporary, target);
  syncNames(dirname(target));
}

/** The server may run as another user than the one who changes the file. Nobody else may ever read it. */
function keepOwner(descriptor: number, { uid, gid, mode }: Stats): void {
  fchmodSync(descriptor, 0o600 | (mode & 0o040));
  if (uid !== process.getuid?.() || gid !== process.getgid?.()) fchownSync(descriptor, uid, gid);
}

function encodeTokens(entries: readonly TokenEntry[]): string {
  return `${JSON.stringify({ tokens: entries.map(encodeEntry) }, undefined, 2)}\n`;
}

function encodeEntry(entry: TokenEntry): Record<keyof TokenEntry, unknown> {
  const { id, name, sha256, namespace, reads, rights, createdAt, expiresAt, revokedAt } = entry;
  return {
    id,
    name,
    sha256,
    namespace,
    reads,
    rights,
    createdAt: timeText(createdAt),
    expiresAt: timeText(expiresAt),
    revokedAt: timeText(revokedAt),
  };
}

function timeText(time: number | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString();
}

const FILE_FIELDS = { tokens: true };

const ENTRY_FIELDS: Readonly<Record<keyof TokenEntry, true>> = {
  id: true,
  name: true,
  sha256: true,
  namespace: true,
  reads: true,
  rights: true,
  createdAt: true,
  expiresAt: true,
  revokedAt: true,
};

/** Throws ASSAY_TOKENS_FILE with line and column. */
export function parseTokens(file: string, text: string): TokenEntry[] {
  const root = parseDocument({ file, text, code: 'ASSAY_TOKENS_FILE', refusesComments: true });
  const { tokens } = root.fields(FILE_FIELDS);
  if (!tokens) throw root.refuse('"tokens" is missing');
  const values = tokens.list('a list of tokens');
  const entries = values.map(parseEntry);
  const seen = new Set<string>();
  for (const [index, { id, sha256 }] of entries.entries()) {
    if (seen.has(id) || seen.has(sha256))
      throw (values[index] ?? tokens).refuse('an earlier entry has the same id or the same hash');
    seen.add(id).add(sha256);
  }
  return entries;
}

function parseEntry(value: ConfigValue): TokenEntry {
  const fields = value.fields(ENTRY_FIELDS);
  const required = (name: keyof TokenEntry): ConfigValue => {
    const found = fields[name];
    if (!found) throw value.refuse(`${JSON.stringify(name)} is missing`);
    return found;
  };
  return {
    id: matching(required('id'), (text) => ID.test(text), '12 hex digits'),
    name: matching(required('name'), isTokenName, 'a name of letters, digits and "._@:/+-"'),
    sha256: matching(required('sha256'), (text) => /^[0-9a-f]{64}$/.test(text), 'a SHA-256 in hex'),
    namespace: ownNamespaceAt(required('namespace')),
    reads: required('reads').list('a list of namespaces').map(namespaceAt),
    rights: required('rights')
      .list('a list of rights')
      .map((right) => right.oneOf(RIGHTS)),
    createdAt: timeAt(required('createdAt')),
    expiresAt: fields.expiresAt && timeAt(fields.expiresAt),
    revokedAt: fields.revokedAt && timeAt(fields.revokedAt),
  };
}

function matching(value: ConfigValue, isRight: (text: string) => boolean, expected: string): string {
  const { text } = value.text(expected);
  if (!isRight(text)) throw value.refuse(`${expected} is expected here`);
  return text;
}

function timeAt(value: ConfigValue): number {
  const { text } = value.text('a time in "quotes"');
  const time = Date.parse(text);
  if (!/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) || Number.isNaN(time))
    throw value.refuse('a time such as "2026-01-31T12:00:00.000Z" is expected here');
  return time;
}
