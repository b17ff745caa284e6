// The current working directory, also where its path is not valid UTF-8.
//
// Node and Bun handle paths as text and cannot name such a path. Assay opens the directory and calls it
// /proc/self/fd/N. Everything works there except tracing, which compares whole paths.
import { constants, openSync } from 'node:fs';
import { realPathOf } from './real-path.ts';

const OPEN_FOLDER = '/proc/self/fd/';
const HERE = '.';

let opened: string | undefined;

export function currentFolder(): string {
  const folder = realPathOf(HERE);
  if (folder !== HERE) return folder;
  opened ??= OPEN_FOLDER + openSync(HERE, constants.O_RDONLY | constants.O_DIRECTORY);
  return opened;
}

export function hasUtf8Path(workspace: string): boolean {
  return !workspace.startsWith(OPEN_FOLDER);
}
