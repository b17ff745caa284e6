// Where the repository of a workspace is. git is not started: the files of .git tell what is asked.
import { readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

interface GitCheckout {
  /** The checked out folder. */
  readonly top: string;
  /** Its .git, or what that names in a worktree or a submodule. */
  readonly folder: string;
}

/** Undefined outside a repository. */
export function gitCheckout(from: string): GitCheckout | undefined {
  const path = join(from, '.git');
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory()) return { top: from, folder: path };
  /* A worktree or a submodule */
  if (stats?.isFile()) {
    const named = readFileSync(path, 'utf8').replace(/^gitdir: /, '');
    return { top: from, folder: resolve(from, named.trim()) };
  }
  return from === dirname(from) ? undefined : gitCheckout(dirname(from));
}

/** Reads plain files only: a pipe would wait for its writer. */
export function readIfThere(file: string): string | undefined {
  return statSync(file, { throwIfNoEntry: false })?.isFile() ? readFileSync(file, 'utf8') : undefined;
}
