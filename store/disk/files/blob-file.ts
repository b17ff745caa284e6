// Reads the file of a large blob.
import { isSystemError } from '../../../core/errors.ts';
import { orIfGone, readFully, stat } from '../../../system/files/calls.ts';
import type { RawFile } from '../../raw.ts';
import { attempt } from '../fs/faults.ts';
import { closeContent, openContent } from './open-files.ts';

/** Undefined if the file does not exist. */
export async function fileSize(path: string): Promise<number | undefined> {
  return (await attempt('reading the size of a file', () => orIfGone(stat(path), undefined)))?.size;
}

/** Undefined if the file does not exist. */
export async function openToRead(path: string): Promise<RawFile | undefined> {
  const file = await attempt('opening a file', () => orIfGone(openContent(path, 'r'), undefined));
  if (file === undefined) return undefined;
  return {
    read: (buffer, position) => attempt('reading a file', () => readOrNothing(file, buffer, position)),
    close: () => closeContent(file),
  };
}

/**
 * Bytes that the disk can't read count as missing. So the blob is quarantined, and the next put stores it
 * again.
 */
async function readOrNothing(file: number, buffer: Buffer, position: number): Promise<number> {
  try {
    return await readFully(file, buffer, position);
  } catch (error) {
    if (isSystemError(error, 'EIO')) return 0;
    throw error;
  }
}
