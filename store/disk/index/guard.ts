// Checks the index before LMDB opens it, because a failed open ends the process (docs/decisions/0011).
// Everything that would make the open fail becomes an error here.
//
// The lock file is checked by stat only. Closing a descriptor of it would drop the locks that this process
// may hold.
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
/** LMDB uses the kernel's page size, and at most the last of these. */
const PAGE_SIZES = [4096, 8192, 16_384, 32_768, 65_536];

export const DATA_FILE = 'data.mdb';

export function refuseUnopenable(folder: string): void {
  refuseUnusableLock(join(folder, 'lock.mdb'));
  const isThere = checkData(join(folder, DATA_FILE));
  if (isThere) return;
  accessSync(folder, constants.W_OK | constants.X_OK);
  if (isNearlyFull(folder))
    throw new AssayError('ASSAY_DISK_FULL', `too little free space for an index in ${folder}`);
}

function refuseUnusableLock(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) return;
  if (!found.isFile()) throw new AssayError('ASSAY_STORE_FAULT', `${path} is not a file`);
  accessSync(path, constants.R_OK | constants.W_OK);
}

/**
 * False if there is no index yet. Both header pages must be valid, and every page of a tree must be in the
 * file.
 */
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

/**
 * Another process may commit and overwrite pages during the check: then it is repeated with the new header.
 */
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

/** Zeros beyond the end of the file, which are not a header. */
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
  // No transaction doubles the file: such a header has a flipped bit.
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
 * Appends zeros so that the check of the pages is not needed at every start. Appending can't overwrite what
 * another process writes, and LMDB ignores bytes after the last page. Nothing depends on it.
 */
function padFile(path: string, bytes: number): void {
  const file = openSync(path, 'a');
  try {
    for (let left = bytes; left > 0; left -= STORE.chunkBytes)
      writeSync(file, Buffer.alloc(Math.min(left, STORE.chunkBytes)));
  } catch {
    // The disk is full, for example. The next start checks the pages again.
  } finally {
    closeSync(file);
  }
}
