// LMDB's binding takes the whole process down when an open fails (docs/decisions/0011). So what would make it fail is
// looked for first, and refused in words.
//
// The lock file is only looked at from outside: closing a descriptor of it would drop the locks that this process may
// already hold through another one.
import { accessSync, closeSync, constants, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { AssayError, isSystemError } from '../../core/errors.ts';
import { isNearlyFull } from './faults.ts';

const MAGIC = 0xbeefc0de;
const FORMAT = 2;
const MAGIC_AT = 24;
const FORMAT_AT = MAGIC_AT + 4;
const PAGE_SIZE_AT = MAGIC_AT + 24;
const LAST_PAGE_AT = MAGIC_AT + 120;
const TRANSACTION_AT = LAST_PAGE_AT + 8;
const HEADER_BYTES = TRANSACTION_AT + 8;

export const DATA_FILE = 'data.mdb';

export function refuseUnopenable(folder: string): void {
  refuseUnusableLock(join(folder, 'lock.mdb'));
  const isThere = checkData(join(folder, DATA_FILE));
  if (isThere) return;
  accessSync(folder, constants.W_OK | constants.X_OK);
  if (isNearlyFull(folder)) throw new AssayError('ASSAY_STORE_FULL', `no room for an index in ${folder}`);
}

function refuseUnusableLock(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) return;
  if (!found.isFile()) throw new AssayError('ASSAY_STORE_FAULT', `${path} is not a file`);
  accessSync(path, constants.R_OK | constants.W_OK);
}

/** False when there is nothing yet. Its first two pages must both be headers, and the newer one's pages all be there. */
function checkData(path: string): boolean {
  const file = openIfThere(path);
  if (file === undefined) return false;
  try {
    const first = readHeader(file, 0);
    if (!first) return false;
    const second = isHeader(first) ? readHeader(file, first.readUInt32LE(PAGE_SIZE_AT)) : undefined;
    if (second && isHeader(second) && isWhole(file, first, second)) return true;
  } finally {
    closeSync(file);
  }
  throw new AssayError('ASSAY_STORE_FAULT', `${path} is not an index of this version, or it is damaged`);
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, 'r+');
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** Undefined beyond the end of the file. */
function readHeader(file: number, position: number): Buffer | undefined {
  const header = Buffer.alloc(HEADER_BYTES);
  return readSync(file, header, 0, HEADER_BYTES, position) === 0 ? undefined : header;
}

/** LMDB maps the file into memory: a page beyond its end, once touched, ends the process. */
function isWhole(file: number, first: Buffer, second: Buffer): boolean {
  const transaction = (header: Buffer) => header.readBigUInt64LE(TRANSACTION_AT);
  const newer = transaction(first) > transaction(second) ? first : second;
  const pages = newer.readBigUInt64LE(LAST_PAGE_AT) + 1n;
  return BigInt(fstatSync(file).size) >= pages * BigInt(newer.readUInt32LE(PAGE_SIZE_AT));
}

function isHeader(page: Buffer): boolean {
  return page.readUInt32LE(MAGIC_AT) === MAGIC && page.readUInt16LE(FORMAT_AT) === FORMAT;
}
