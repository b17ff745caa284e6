// File system calls as promises, on node:fs alone. Loading node:fs/promises takes Node about 11 ms, more than
// the rest of a local hit (docs/decisions/0012). A file is a descriptor number, and its opener closes it.
import * as fs from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { isSystemError } from '../../core/errors.ts';
import { DESCRIPTORS } from '../limits.ts';

export const closeFile = promisify(fs.close);
export const syncData = promisify(fs.fdatasync);
export const truncate = promisify<number, number, void>(fs.ftruncate);
export const rename = promisify(fs.rename);
export const mkdir = promisify<string, number | undefined, void>(fs.mkdir);
export const stat = promisify(fs.stat);
export const listFolder = promisify<string, string[]>(fs.readdir);
export const writeWhole = promisify<string, Uint8Array, void>(fs.writeFile);

const open = promisify<string, string | number, number | undefined, number>(fs.open);
const read = promisify(fs.read);
const write = promisify(fs.write);
const sync = promisify(fs.fsync);
const unlink = promisify(fs.unlink);
const remove = promisify<string, fs.RmOptions, void>(fs.rm);

/** Waits and retries while the process or the system has too many open files. */
export async function openFile(path: string, flags: string | number, mode?: number): Promise<number> {
  for (let waited = 0; ; waited += DESCRIPTORS.pollMs) {
    try {
      return await open(path, flags, mode);
    } catch (error) {
      if (!isSystemError(error, 'EMFILE', 'ENFILE') || waited >= DESCRIPTORS.waitMs) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, DESCRIPTORS.pollMs));
  }
}

/** Returns fewer bytes than the buffer holds only at the end of the file. */
export async function readFully(file: number, buffer: Buffer, position: number): Promise<number> {
  let filled = 0;
  while (filled < buffer.length) {
    const { bytesRead } = await read(file, buffer, filled, buffer.length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled;
}

export async function writeFully(file: number, bytes: Buffer, position: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const rest = bytes.length - written;
    written += (await write(file, bytes, written, rest, position + written)).bytesWritten;
  }
}

/**
 * Makes the folder and its parents. It is durable when this resolves, even if another process made it and has
 * not synced it yet. Does not use mkdir's recursive option, which never returns in a folder like /proc.
 */
export async function makeDurableFolder(path: string, mode?: number): Promise<void> {
  try {
    await mkdir(path, mode);
  } catch (error) {
    if (isSystemError(error, 'ENOENT') && !fs.existsSync(dirname(path))) {
      await makeDurableFolder(dirname(path));
      return makeDurableFolder(path, mode);
    }
    if (!isSystemError(error, 'EEXIST')) throw error;
  }
  await syncFolder(dirname(path));
}

/** Makes the names in a folder durable: syncing a file does not sync its name. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await openFile(path, 'r');
  try {
    await sync(folder);
  } finally {
    await closeFile(folder);
  }
}

/** With its contents. No effect if it does not exist. */
export function removeFolder(path: string): Promise<void> {
  return remove(path, { recursive: true, force: true });
}

/** No effect if it does not exist. */
export async function removeFile(path: string): Promise<void> {
  await orIfGone(unlink(path), undefined);
}

/** The result of the call, or `otherwise` if the file does not exist. */
export async function orIfGone<T, U>(call: Promise<T>, otherwise: U): Promise<T | U> {
  try {
    return await call;
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return otherwise;
    throw error;
  }
}
