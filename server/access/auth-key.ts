// The key that signs short tokens and seals logins: 32 random bytes in the file `auth-key` of the store's folder.
// A fleet has it in PostgreSQL instead (wings/fleet/engine/shared-secret.ts).
//
// Guarantees:
// - It is created once. Servers on the same store share it, and a restart does not end short tokens.
// - Only the user of the server can read it. It is complete and on disk before its name exists.
// To end all short tokens at once, remove the file and start the servers again.
import { randomBytes, randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { AssayError, isSystemError, messageOf } from '../../core/errors.ts';
import { syncNames, writeSynced } from '../../system/files/synced-file.ts';

const NAME = 'auth-key';
const BYTES = 32;

/** Throws ASSAY_INDEX_AWAY on a server of a fleet that could not read it yet. */
export type AuthKey = () => Buffer;

/** The key of this store. Creates it if there is none. */
export function openAuthKey(storeFolder: string): Buffer {
  const file = join(storeFolder, NAME);
  try {
    return readKey(file) ?? createKey(storeFolder, file);
  } catch (error) {
    if (error instanceof AssayError) throw error;
    throw new AssayError('ASSAY_STORE_FAULT', `${file}: ${messageOf(error)}`, { cause: error });
  }
}

function readKey(file: string): Buffer | undefined {
  try {
    const key = readFileSync(file);
    if (key.length === BYTES) return key;
    throw new AssayError(
      'ASSAY_STORE_FAULT',
      `${file} has ${key.length} bytes instead of ${BYTES}; remove it`,
    );
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** A link fails if the name exists, so of two servers that create a key at once, one gets the other's. */
function createKey(storeFolder: string, file: string): Buffer {
  makeIfMissing(storeFolder);
  const temporary = `${file}-${randomUUID()}`;
  const key = randomBytes(BYTES);
  try {
    writeSynced(temporary, key);
    linkSync(temporary, file);
  } catch (error) {
    const others = isSystemError(error, 'EEXIST') ? readKey(file) : undefined;
    if (others) return others;
    throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
  syncNames(storeFolder);
  return key;
}

/** Its parent exists: the store lies there. */
function makeIfMissing(folder: string): void {
  try {
    mkdirSync(folder);
  } catch (error) {
    if (!isSystemError(error, 'EEXIST')) throw error;
  }
}
