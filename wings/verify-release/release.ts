// Checks a folder with files of a release: the signature of SHA256SUMS first, then the digest of each file.
// Guarantee: a file counts as right only if its whole content was read and has the listed digest.
import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { AssayError, messageOf } from '../../core/errors.ts';
import { RELEASE } from './limits.ts';

const LIST = 'SHA256SUMS';
const SIGNATURE = 'SHA256SUMS.sig';

export interface Verified {
  readonly signed: boolean;
  readonly right: readonly string[];
  /** Listed, but not downloaded. */
  readonly missing: readonly string[];
}

/** `key`: the file with the public key, or undefined if the signature is not checked. */
export async function verifyRelease(folder: string, key: string | undefined): Promise<Verified> {
  const list = readSmall(join(folder, LIST), RELEASE.maxListBytes);
  if (key !== undefined) checkSignature(folder, list, publicKey(key));
  const listed = parseList(list.toString());
  const unlisted = readdirSync(folder).filter(
    (name) => name !== LIST && name !== SIGNATURE && !listed.has(name),
  );
  if (unlisted.length > 0) refuse(`${LIST} does not list ${unlisted.join(', ')}`);
  const right: string[] = [];
  const missing: string[] = [];
  for (const [name, digest] of listed) {
    const file = join(folder, name);
    if (!existsSync(file)) missing.push(name);
    else if ((await sha256Of(file)) === digest) right.push(name);
    else refuse(`${name} has not the digest that ${LIST} has for it`);
  }
  if (right.length === 0) refuse(`${folder} has no file that ${LIST} lists`);
  return { signed: key !== undefined, right, missing };
}

function checkSignature(folder: string, list: Buffer, key: KeyObject): void {
  const file = join(folder, SIGNATURE);
  if (!existsSync(file)) refuse(`the release is not signed: there is no ${file}`);
  const signature = Buffer.from(readSmall(file, RELEASE.maxKeyBytes).toString().trim(), 'base64');
  if (!verify(null, list, key, signature)) refuse(`${file} is not by the given key`);
}

function publicKey(file: string): KeyObject {
  const text = readSmall(file, RELEASE.maxKeyBytes);
  if (text.includes('PRIVATE KEY'))
    throw new AssayError(
      'ASSAY_USAGE',
      `${file} is a private key: name the public one, and keep that secret`,
    );
  try {
    const key = createPublicKey(text);
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch (error) {
    throw new AssayError('ASSAY_USAGE', `${file} is no public key as PEM: ${messageOf(error)}`);
  }
  throw new AssayError('ASSAY_USAGE', `${file} is no Ed25519 public key`);
}

/** Names without a slash: nothing outside the folder is a part of the release. */
function parseList(text: string): Map<string, string> {
  const listed = new Map<string, string>();
  for (const line of text.split('\n').filter(Boolean)) {
    const [, digest, name] = /^([0-9a-f]{64}) [ *]([^/\0]+)$/.exec(line) ?? [];
    if (digest === undefined || name === undefined || listed.has(name))
      refuse(`${LIST} has a line that it should not have: ${JSON.stringify(line)}`);
    else listed.set(name, digest);
  }
  return listed;
}

function readSmall(file: string, most: number): Buffer {
  const { size } = statSync(file);
  if (size > most) refuse(`${file} has ${size} bytes, more than ${most}`);
  return readFileSync(file);
}

async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

function refuse(detail: string): never {
  throw new AssayError('ASSAY_RELEASE', detail);
}
