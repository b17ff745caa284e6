// Signatures of bundles: Ed25519, with keys in PEM files as openssl writes them.
// A signature proves who made a bundle. It does not prove that its maker was honest.
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { usage } from '../../../core/cli/command.ts';
import type { Hash } from '../../../core/digest.ts';
import { AssayError, messageOf } from '../../../core/errors.ts';
import { BUNDLE } from '../limits.ts';
import { type Head, signedText } from './layout.ts';

export function privateKey(file: string): KeyObject {
  return ed25519(file, () => createPrivateKey(readKey(file)));
}

export function trustedKey(file: string): KeyObject {
  const text = readKey(file);
  if (text.includes('PRIVATE KEY'))
    throw usage(`${file} is a private key: name the public one, and keep that secret`);
  return ed25519(file, () => createPublicKey(text));
}

export function signBundle(bundle: Hash, key: KeyObject): string {
  return sign(null, signedText(bundle), key).toString('base64');
}

/** Throws unless one of the keys signed it. */
export function requireSignature({ bundle, signature }: Head, keys: readonly KeyObject[]): void {
  if (signature === undefined) throw untrusted('it is not signed');
  const bytes = Buffer.from(signature, 'base64');
  if (!keys.some((key) => verify(null, signedText(bundle), key, bytes)))
    throw untrusted('its signature is by none of the trusted keys');
}

function readKey(file: string): string {
  if (statSync(file).size > BUNDLE.maxKeyFileBytes) throw usage(`${file} is too large for a key`);
  return readFileSync(file, 'utf8');
}

function ed25519(file: string, read: () => KeyObject): KeyObject {
  let key: KeyObject;
  try {
    key = read();
  } catch (error) {
    throw usage(`${file} is no key as PEM: ${messageOf(error)}`);
  }
  if (key.asymmetricKeyType === 'ed25519') return key;
  throw usage(`${file} is no Ed25519 key (openssl genpkey -algorithm ed25519 -out key.pem)`);
}

function untrusted(detail: string): AssayError {
  return new AssayError('ASSAY_BUNDLE_UNTRUSTED', detail);
}
