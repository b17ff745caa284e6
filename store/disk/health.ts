// The health check: one line that says why a store can't be used now. It writes nothing.
import { accessSync, constants } from 'node:fs';
import { isSystemError } from '../../core/errors.ts';
import { STORE } from '../limits.ts';
import { freeBytes } from './fs/free-space.ts';
import type { Layout } from './fs/layout.ts';
import type { Index } from './index/index.ts';

/** Names no folder, because every client may read it. Undefined if no fault is known. */
export function faultIn(layout: Layout, index: Index, isWritten: boolean): string | undefined {
  try {
    if (!index.tables.isSameFile) return 'the store was removed or replaced while it was in use';
    return isWritten ? writeFault(layout) : undefined;
  } catch (error) {
    if (isSystemError(error, 'EROFS')) return 'the disk under the store is read-only';
    if (isSystemError(error, 'EACCES')) return 'the server may not write to the store';
    return 'the store can’t be reached';
  }
}

function writeFault({ index, staging }: Layout): string | undefined {
  for (const folder of [index, staging]) accessSync(folder, constants.W_OK);
  if (freeBytes(index) < STORE.minFreeBytes + STORE.commitBytes) return 'the disk under the store is full';
  return undefined;
}
