// Replaces a file as a whole: writes another one beside it, and renames it.
// Guaranteed: a reader sees the old content or the new one. If this throws, the old file is unchanged and no other file is
// left. Not guaranteed: that the new content survives a power failure.
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { isSystemError } from '../../core/errors.ts';

const ANYBODYS = 0o666;

/** `mode`: of the new file, before the umask. */
export function replaceFile(file: string, content: string | Uint8Array, mode = ANYBODYS): void {
  const staged = `${file}.${process.pid}.tmp`;
  try {
    writeNew(staged, content, mode);
    renameSync(staged, file);
  } catch (error) {
    rmSync(staged, { force: true });
    throw error;
  }
}

/** A killed process with the same PID may have left the name. A link there, which others may have put, is not followed. */
function writeNew(file: string, content: string | Uint8Array, mode: number): void {
  try {
    writeFileSync(file, content, { mode, flag: 'wx' });
  } catch (error) {
    if (!isSystemError(error, 'EEXIST')) throw error;
    rmSync(file);
    writeFileSync(file, content, { mode, flag: 'wx' });
  }
}
