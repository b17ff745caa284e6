// The current working directory, also where its path is not valid UTF-8.
//
// Node and Bun handle paths as text and cannot name such a path. Assay opens the directory and calls it
// /proc/self/fd/N. Everything works there except tracing, which compares whole paths.
import { constants, openSync, realpathSync } from 'node:fs';

const OPEN_FOLDER = '/proc/self/fd/';
const NOT_UTF_8 = '\ufffd';

let opened: string | undefined;

export function currentFolder(): string {
  const folder = process.cwd();
  try {
    return realpathSync(folder);
  } catch (error) {
    if (!folder.includes(NOT_UTF_8)) throw error;
    opened ??= OPEN_FOLDER + openSync('.', constants.O_RDONLY | constants.O_DIRECTORY);
    return opened;
  }
}

export function hasUtf8Path(workspace: string): boolean {
  return !workspace.startsWith(OPEN_FOLDER);
}
