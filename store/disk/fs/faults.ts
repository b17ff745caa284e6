// Turns failures of the operating system and of LMDB into errors of the catalogue.
import { AssayError, messageOf } from '../../../core/errors.ts';
import { STORE } from '../../limits.ts';
import { freeBytes } from './free-space.ts';

/** Out of space or quota: Node's codes, the same from LMDB as numbers, and LMDB's own code for a full map. */
const FULL = new Set<unknown>(['ENOSPC', 'EDQUOT', 28, 122, -30792]);
/** LMDB's code for a page that was written in part. A full disk begins to fail this way. */
const PARTLY_WRITTEN = 5;

/** `call` says what was tried. An AssayError stays as it is. */
export function faultOf(call: string, cause: unknown): AssayError {
  return cause instanceof AssayError ? cause : faultWith(FULL.has(codeOf(cause)), call, cause);
}

export function indexFaultOf(call: string, folder: string, cause: unknown): AssayError {
  const isFull = codeOf(cause) === PARTLY_WRITTEN && isNearlyFull(folder);
  return isFull ? faultWith(isFull, call, cause) : faultOf(call, cause);
}

function faultWith(isFull: boolean, call: string, cause: unknown): AssayError {
  const code = isFull ? 'ASSAY_DISK_FULL' : 'ASSAY_STORE_FAULT';
  return new AssayError(code, `${call}: ${messageOf(cause)}`, { cause });
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/** Too full to create an index. */
export function isNearlyFull(folder: string): boolean {
  return freeBytes(folder) < STORE.minFreeBytes;
}

/** Runs one step and names it in its failure. */
export async function attempt<T>(call: string, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (cause) {
    throw faultOf(call, cause);
  }
}
