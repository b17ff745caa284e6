// The file system's calls as promises, on top of node:fs alone: loading node:fs/promises takes Node about 11 ms, more than
// all the rest of a local hit (docs/decisions/0012). A file is a number here, and whoever opens it closes it.
import * as fs from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { isSystemError } from '../../../core/errors.ts';
import { STORE } from '../../limits.ts';

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

/** Too many open files is a fault that passes: it is waited for. */
export async function openFile(path: string, flags: string | number, mode?: number): Promise<number> {
  for (let waited = 0; ; waited += STORE.descriptorPollMs) {
    try {
      return await open(path, flags, mode);
    } catch (error) {
      if (!isSystemError(error, 'EMFILE', 'ENFILE') || waited >= STORE.descriptorWaitMs) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, STORE.descriptorPollMs));
  }
}

/** Fewer bytes than the buffer holds only at the end of the file. */
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
 * With its parents. Durable when this resolves, whoever made it: another process may have and not synced it yet. Not by
 * mkdir's own recursion: where a folder takes no others (/proc), that one never ends.
 */
export async function makeFolder(path: string, mode?: number): Promise<void> {
  try {
    await mkdir(path, mode);
  } catch (error) {
    if (isSystemError(error, 'ENOENT') && !fs.existsSync(dirname(path))) {
      await makeFolder(dirname(path));
      return makeFolder(path, mode);
    }
    if (!isSystemError(error, 'EEXIST')) throw error;
  }
  await syncFolder(dirname(path));
}

/** Makes the entries of a folder durable: a file's own sync says nothing about its name. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await openFile(path, 'r');
  try {
    await sync(folder);
  } finally {
    await closeFile(folder);
  }
}

/** With all that is in it; it does not matter whether it was there. */
export function removeFolder(path: string): Promise<void> {
  return remove(path, { recursive: true, force: true });
}

/** It does not matter whether it was there. */
export async function removeFile(path: string): Promise<void> {
  await orIfGone(unlink(path), undefined);
}

/** What the call gives, or `otherwise` where there is no such file. */
export async function orIfGone<T, U>(call: Promise<T>, otherwise: U): Promise<T | U> {
  try {
    return await call;
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return otherwise;
    throw error;
  }
}
