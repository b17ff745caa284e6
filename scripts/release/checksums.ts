// SHA256SUMS of a release, and its signature.
// Guarantee: the private key comes from the file that ASSAY_RELEASE_KEY names, and nothing of it is written or printed.
import { createHash, createPrivateKey, sign } from 'node:crypto';
import { closeSync, openSync, readdirSync, readFileSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const CHUNK = 1 << 20;

/** In the form of `sha256sum`, by name. `assay verify-release` reads it, and so does `sha256sum --check`. */
export function writeChecksums(folder: string): void {
  const lines = readdirSync(folder)
    .sort()
    .map((name) => `${sha256Of(join(folder, name))}  ${name}\n`);
  writeFileSync(join(folder, 'SHA256SUMS'), lines.join(''));
}

function sha256Of(file: string): string {
  const hash = createHash('sha256');
  const chunk = Buffer.allocUnsafe(CHUNK);
  const open = openSync(file, 'r');
  try {
    for (let size = readSync(open, chunk); size > 0; size = readSync(open, chunk))
      hash.update(chunk.subarray(0, size));
  } finally {
    closeSync(open);
  }
  return hash.digest('hex');
}

/** `keyFile`: an Ed25519 private key as PEM, as `openssl genpkey -algorithm ed25519` writes it. */
export function signChecksums(folder: string, keyFile: string): void {
  const key = createPrivateKey(readFileSync(keyFile));
  if (key.asymmetricKeyType !== 'ed25519')
    throw new Error(`ASSAY_RELEASE_KEY names ${keyFile}, which is no Ed25519 private key`);
  const signature = sign(null, readFileSync(join(folder, 'SHA256SUMS')), key);
  writeFileSync(join(folder, 'SHA256SUMS.sig'), `${signature.toString('base64')}\n`);
}
