// The scratch folders of one action: an empty HOME, an empty TMPDIR, and shims for tools that the fixed PATH
// misses.
// They exist only while the action runs.
import { chmodSync, lstatSync, mkdirSync, realpathSync, rmdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { removeTemporaryFolder, temporaryFolder } from '../../hermeticity/system/temporary-folder.ts';
import type { ScratchFolders } from '../action/environment.ts';
import type { KeyedAction } from '../run/key.ts';
import { locateOnPath, type Tool } from '../tools/tools.ts';

/** `locate`: the path at which the action sees a tool. */
export async function withScratchFolders<T>(
  { tools, environment }: Pick<KeyedAction, 'tools' | 'environment'>,
  work: (folders: ScratchFolders) => Promise<T>,
  locate: (file: string) => string = (file) => file,
): Promise<T> {
  const root = temporaryFolder('run');
  try {
    const path = environment.find(({ name }) => name === 'PATH')?.value ?? '';
    const { ctimeMs: madeAtMs } = lstatSync(root);
    return await work({ root, madeAtMs, ...makeFolders(root, tools, path, locate) });
  } finally {
    if (!removeEmpty(root)) removeTemporaryFolder(root);
  }
}

/** Most commands leave nothing there, and a search for files to remove takes longer than three calls. */
function removeEmpty(root: string): boolean {
  try {
    for (const folder of ['tmp', 'home', '.']) rmdirSync(join(root, folder));
    return true;
  } catch {
    return false;
  }
}

function makeFolders(
  root: string,
  tools: readonly Tool[],
  path: string,
  locate: (file: string) => string,
): Pick<ScratchFolders, 'home' | 'tmp' | 'bin'> {
  const [home, tmp, bin] = [join(root, 'home'), join(root, 'tmp'), join(root, 'bin')];
  for (const folder of [home, tmp]) mkdirSync(folder);
  const used = tools.flatMap((tool) => [tool, ...tool.interpreters]);
  const hidden = used.filter((tool) => needsShim(path, tool));
  if (hidden.length === 0) return { home, tmp };
  mkdirSync(bin);
  for (const tool of hidden) writeShim(join(bin, basename(tool.name)), locate(tool.file));
  return { home, tmp, bin };
}

/** True if the strict PATH does not find the program by its name, or finds another one. */
function needsShim(path: string, { name, file }: Tool): boolean {
  if (name.includes('/')) return false;
  const found = locateOnPath(name, path);
  return found === undefined || realpathSync(found) !== realpathSync(file);
}

/**
 * A script that executes the tool, not a link to it. Programs that look for files beside their own path (a
 * Python venv, a shell script with `dirname $0`) then find them.
 */
function writeShim(at: string, file: string): void {
  writeFileSync(at, `#!/bin/sh\nexec '${file.replaceAll("'", `'\\''`)}' "$@"\n`);
  chmodSync(at, 0o755);
}
