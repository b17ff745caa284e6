// The real path of a file or folder, also where it is not valid UTF-8.
//
// Node and Bun handle paths as text. In a path that is not UTF-8 they put U+FFFD for the bytes that they cannot name, and
// there may be another file whose name is that text. So such a path is used only if it leads to the same file.
import { realpathSync, statSync } from 'node:fs';

const NOT_UTF_8 = '\ufffd';

/** The path as it was given if its real path cannot be named. */
export function realPathOf(path: string): string {
  const real = realPathAsText(path);
  return real !== undefined && (!real.includes(NOT_UTF_8) || isSame(path, real)) ? real : path;
}

/** Node follows the links itself, and fails at one that leads to a path that it cannot name. */
function realPathAsText(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch (error) {
    if (!realpathSync.native(path).includes(NOT_UTF_8)) throw error;
    return undefined;
  }
}

function isSame(path: string, real: string): boolean {
  const [one, other] = [statSync(path), statSync(real, { throwIfNoEntry: false })];
  return other !== undefined && one.ino === other.ino && one.dev === other.dev;
}
