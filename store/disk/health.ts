// Whether a store can be used right now, in one line, without writing anything: what a load balancer wants to know.
import { accessSync, constants } from 'node:fs';
import { isSystemError } from '../../core/errors.ts';
import { STORE } from '../limits.ts';
import { freeBytes } from './fs/free-space.ts';
import type { Layout } from './fs/layout.ts';
import type { Index } from './index/index.ts';
import type { Space } from './space/space.ts';

/** Names no folder: everybody may read it. Undefined while nothing is known to be wrong. */
export function faultIn(layout: Layout, index: Index, space: Space, isWritten: boolean): string | undefined {
  if (!index.tables.isSameFile) return 'the store was removed or replaced while it was in use';
  return isWritten ? writeFault(layout, space) : undefined;
}

function writeFault({ index, staging }: Layout, space: Space): string | undefined {
  try {
    for (const folder of [index, staging]) accessSync(folder, constants.W_OK);
    if (freeBytes(index) < STORE.minFreeBytes + STORE.commitBytes) return 'the disk under the store is full';
  } catch (error) {
    if (isSystemError(error, 'EROFS')) return 'the disk under the store is read-only';
    if (isSystemError(error, 'EACCES')) return 'the server may not write to the store';
    return 'the store can not be reached';
  }
  return space.hasRefusedRecently ? 'what is in use fills the store’s limit' : undefined;
}
