// LMDB's binding takes the whole process down when an open fails (docs/decisions/0011). So what would make it fail is
// looked for first, and refused in words.
//
// The lock file is only looked at from outside: closing a descriptor of it would drop the locks that this process may
// already hold through another one.
import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  openSync,
  readSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { AssayError, isSystemError } from '../../../core/errors.ts';
import { STORE } from '../../limits.ts';
import { isNearlyFull } from '../fs/faults.ts';
import { isTailUnused, type PageFile } from './lmdb-pages.ts';

const MAGIC = 0xbeefc0de;
const FORMAT = 2;
const MAGIC_AT = 24;
const FORMAT_AT = MAGIC_AT + 4;
const FREE_TREE_AT = MAGIC_AT + 24;
const MAIN_TREE_AT = FREE_TREE_AT + 48;
const PAGE_SIZE_AT = FREE_TREE_AT;
const LAST_PAGE_AT = MAIN_TREE_AT + 48;
const TRANSACTION_AT = LAST_PAGE_AT + 8;
const HEADER_BYTES = TRANSACTION_AT + 8;
/** LMDB takes that of the kernel, and at most the last one. */
const PAGE_SIZES = [4096, 8192, 16_384, 32_768, 65_536];

export const DATA_FILE = 'data.mdb';

export function refuseUnopenable(folder: string): void {
  refuseUnusableLock(join(folder, 'lock.mdb'));
  const isThere = checkData(join(folder, DATA_FILE));
  if (isThere) return;
  accessSync(folder, constants.W_OK | constants.X_OK);
  if (isNearlyFull(folder)) throw new AssayError('ASSAY_DISK_FULL', `no room for an index in ${folder}`);
}

function refuseUnusableLock(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) return;
  if (!found.isFile()) throw new AssayError('ASSAY_STORE_FAULT', `${path} is not a file`);
  accessSync(path, constants.R_OK | constants.W_OK);
}

/** False when there is nothing yet. Its first two pages must both be headers, and every page of a tree must be there. */
function checkData(path: string): boolean {
  const file = openIfThere(path);
  if (file === undefined) return false;
  try {
    if (fstatSync(file).size === 0) return false;
    if (isComplete(file, path)) return true;
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

/** Another process may commit meanwhile and write over pages that are looked at here: then it is looked at once more. */
function isComplete(file: number, path: string): boolean {
  let header = newerHeader(file);
  for (let attempt = 0; attempt < STORE.headerReads; attempt++) {
    if (!header) return false;
    if (hasAllPages(file, path, header)) return true;
    const now = newerHeader(file);
    if (now?.equals(header)) return false;
    header = now;
  }
  return false;
}

/** Undefined unless both are headers. */
function newerHeader(file: number): Buffer | undefined {
  const first = readHeader(file, 0);
  const second = isHeader(first) ? readHeader(file, first.readUInt32LE(PAGE_SIZE_AT)) : undefined;
  if (!second || !isHeader(second)) return undefined;
  const transaction = (header: Buffer) => header.readBigUInt64LE(TRANSACTION_AT);
  return transaction(first) > transaction(second) ? first : second;
}

/** Zeros beyond the end of the file, which are no header. */
function readHeader(file: number, position: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  readSync(file, header, 0, HEADER_BYTES, position);
  return header;
}

function isHeader(page: Buffer): boolean {
  const isOfLmdb = page.readUInt32LE(MAGIC_AT) === MAGIC && page.readUInt16LE(FORMAT_AT) === FORMAT;
  return isOfLmdb && PAGE_SIZES.includes(page.readUInt32LE(PAGE_SIZE_AT));
}

function hasAllPages(file: number, path: string, header: Buffer): boolean {
  const pages = pageFile(file, header);
  const missing = pages.counted - pages.present;
  if (missing <= 0) return true;
  // No transaction takes as many pages as there are: a header that counts them has lost a bit.
  if (missing > pages.present || !isTailUnused(pages)) return false;
  padFile(path, missing * pages.pageBytes);
  return true;
}

function pageFile(file: number, header: Buffer): PageFile {
  const pageBytes = header.readUInt32LE(PAGE_SIZE_AT);
  return {
    file,
    pageBytes,
    present: Math.floor(fstatSync(file).size / pageBytes),
    counted: Number(header.readBigUInt64LE(LAST_PAGE_AT)) + 1,
    free: header.subarray(FREE_TREE_AT, MAIN_TREE_AT),
    main: header.subarray(MAIN_TREE_AT, LAST_PAGE_AT),
  };
}

/**
 * So that the proof is not needed at every start. Appending can't cut or overwrite what another process writes meanwhile,
 * and what is beyond the last page means nothing to LMDB. Nothing depends on it.
 */
function padFile(path: string, bytes: number): void {
  const file = openSync(path, 'a');
  try {
    for (let left = bytes; left > 0; left -= STORE.chunkBytes)
      writeSync(file, Buffer.alloc(Math.min(left, STORE.chunkBytes)));
  } catch {
    // A full disk, for example. The next start looks at the pages again.
  } finally {
    closeSync(file);
  }
}
