// The content files that this process has open, of which there may be so many and no more: each comes with a buffer of a
// chunk or two, and the process may open only so many files. Who finds all places taken waits, and is never answered in
// part because a file could not be opened.
import { STORE } from '../../limits.ts';
import { Semaphore } from '../../shared/semaphore.ts';
import { closeFile, openFile } from '../fs/calls.ts';
import { descriptorLimit } from '../fs/descriptors.ts';

/** A third of what is left after the process's own: the rest is for connections. */
const SHARE = 3;
const LEAST = 4;

let semaphore: Semaphore | undefined;

/** Asked for when the first file is opened: a run that meets no large blob does not pay for it. */
function openFileSemaphore(): Semaphore {
  semaphore ??= newSemaphore();
  return semaphore;
}

function newSemaphore(): Semaphore {
  const left = Math.floor((descriptorLimit() - STORE.reservedDescriptors) / SHARE);
  return new Semaphore({
    permits: Math.max(LEAST, Math.min(STORE.openFiles, left)),
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

/** Of a file that openContent has opened, or of one that took its place. */
export async function closeContent(file: number): Promise<void> {
  try {
    await closeFile(file);
  } finally {
    openFileSemaphore().release();
  }
}
