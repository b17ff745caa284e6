// The check of a file that a running server is about to read again.
// Guarantee: a reload never waits for a file. A read from a named pipe would wait for its writer, and no
// request would get an answer meanwhile. A server that starts may read a pipe, such as the shell's <(…).
import { statSync } from 'node:fs';
import { AssayError, type ErrorCode } from '../../core/errors.ts';

/** A missing file passes: its reader reports it. */
export function throwUnlessRegular(code: ErrorCode, ...files: readonly (string | undefined)[]): void {
  for (const file of files) {
    if (file === undefined) continue;
    if (statSync(file, { throwIfNoEntry: false })?.isFile() === false)
      throw new AssayError(code, `${file}: this is not a regular file`);
  }
}
