// What the operating system and LMDB say when they fail, in the words of the catalogue.
import { AssayError, messageOf } from '../../../core/errors.ts';
import { STORE } from '../../limits.ts';
import { freeBytes } from './free-space.ts';

/** Out of space, out of quota: as Node names them, as LMDB hands them through, and LMDB's own full map. */
const FULL = new Set<unknown>(['ENOSPC', 'EDQUOT', 28, 122, -30792]);
/** LMDB's word for a page that was written in part, which is how a disk without room begins to refuse. */
const PARTLY_WRITTEN = 5;

/** `call` names what was tried; a refusal that is one already stays what it is. */
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

/** Too full to begin an index in. */
export function isNearlyFull(folder: string): boolean {
  return freeBytes(folder) < STORE.minFreeBytes;
}

/** Runs one step and gives its failure a name. */
export async function attempt<T>(call: string, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (cause) {
    throw faultOf(call, cause);
  }
}
