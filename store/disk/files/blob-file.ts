// A large blob's file, as it is read.
import { isSystemError } from '../../../core/errors.ts';
import type { RawFile } from '../../raw.ts';
import { orIfGone, readFully, stat } from '../fs/calls.ts';
import { attempt } from '../fs/faults.ts';
import { closeContent, openContent } from './open-files.ts';

/** Undefined when there is none. */
export async function fileSize(path: string): Promise<number | undefined> {
  return (await attempt('looking at a file', () => orIfGone(stat(path), undefined)))?.size;
}

/** Undefined when there is none. */
export async function openToRead(path: string): Promise<RawFile | undefined> {
  const file = await attempt('opening a file', () => orIfGone(openContent(path, 'r'), undefined));
  if (file === undefined) return undefined;
  return {
    read: (buffer, position) => attempt('reading a file', () => readOrNothing(file, buffer, position)),
    close: () => closeContent(file),
  };
}

/** What the disk can't give back any more is as good as not there: then it can be quarantined and healed. */
async function readOrNothing(file: number, buffer: Buffer, position: number): Promise<number> {
  try {
    return await readFully(file, buffer, position);
  } catch (error) {
    if (isSystemError(error, 'EIO')) return 0;
    throw error;
  }
}
