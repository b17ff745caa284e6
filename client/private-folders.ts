// The folders that are one action's alone: an empty home, an empty place for temporary files, and a folder with those
// declared tools that the fixed PATH does not find. Gone when the action ends.
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { BASE_PATH, type PrivateFolders } from './environment.ts';
import { locateOnPath, type Tool } from './tools.ts';

export async function withPrivateFolders<T>(
  tools: readonly Tool[],
  work: (folders: PrivateFolders) => Promise<T>,
): Promise<T> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'assay-')));
  try {
    return await work(makeFolders(root, tools));
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

function makeFolders(root: string, tools: readonly Tool[]): PrivateFolders {
  const [home, tmp, bin] = [join(root, 'home'), join(root, 'tmp'), join(root, 'bin')];
  for (const path of [home, tmp]) mkdirSync(path);
  const hidden = tools.flatMap((tool) => [tool, ...tool.interpreters]).filter(isBeyondBasePath);
  if (hidden.length === 0) return { home, tmp };
  mkdirSync(bin);
  for (const tool of hidden) writeShim(join(bin, basename(tool.name)), tool.file);
  return { home, tmp, bin };
}

/** True for a program that a name alone would not find, or would find another of, in the strict environment. */
function isBeyondBasePath({ name, file }: Tool): boolean {
  if (name.includes('/')) return false;
  const found = locateOnPath(name, BASE_PATH);
  return found === undefined || realpathSync(found) !== realpathSync(file);
}

/**
 * A script that becomes the tool, rather than a link to it: programs that look for their parts beside the name they were
 * started by (a Python venv, a shell script with `dirname $0`) then find them.
 */
function writeShim(at: string, file: string): void {
  writeFileSync(at, `#!/bin/sh\nexec '${file.replaceAll("'", `'\\''`)}' "$@"\n`);
  chmodSync(at, 0o755);
}
