// The folder that a command was called in. Node and Bun know paths as text, so a path that is not UTF-8 can't be named: such a
// folder is held open and called /proc/self/fd/N. Everything works there but tracing, which compares whole paths.
import { constants, openSync, realpathSync } from 'node:fs';

const HELD = '/proc/self/fd/';
const NOT_UTF_8 = '\ufffd';

let held: string | undefined;

export function currentFolder(): string {
  const folder = process.cwd();
  try {
    return realpathSync(folder);
  } catch (error) {
    if (!folder.includes(NOT_UTF_8)) throw error;
    held ??= HELD + openSync('.', constants.O_RDONLY | constants.O_DIRECTORY);
    return held;
  }
}

export function hasUtf8Path(workspace: string): boolean {
  return !workspace.startsWith(HELD);
}
