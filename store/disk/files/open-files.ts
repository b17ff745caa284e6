// Limits how many content files this process has open. Each has one or two buffers, and the process has a
// descriptor limit. A transfer waits for a permit before it begins, so it never fails midway for lack of a
// descriptor.

import { closeFile, openFile } from '../../../system/files/calls.ts';
import { descriptorLimit } from '../../../system/process/descriptors.ts';
import { STORE } from '../../limits.ts';
import { Semaphore } from '../../shared/semaphore.ts';

let semaphore: Semaphore | undefined;

/** Created with the first file: most runs read no large blob. */
function openFileSemaphore(): Semaphore {
  semaphore ??= newSemaphore();
  return semaphore;
}

function newSemaphore(): Semaphore {
  const left = Math.floor((descriptorLimit() - STORE.reservedDescriptors) / STORE.descriptorParts);
  return new Semaphore({
    permits: Math.max(STORE.leastOpenFiles, Math.min(STORE.openFiles, left)),
    maxWaiting: STORE.openFilesWaiting,
    waitMs: STORE.openFilesWaitMs,
  });
}

export async function openContent(path: string, flags: string | number, mode?: number): Promise<number> {
  await openFileSemaphore().acquire();
  try {
    return await openFile(path, flags, mode);
  } catch (error) {
    openFileSemaphore().release();
    throw error;
  }
}

/** Closes a file from `openContent`, or the one that replaced it. */
export async function closeContent(file: number): Promise<void> {
  try {
    await closeFile(file);
  } finally {
    openFileSemaphore().release();
  }
}
