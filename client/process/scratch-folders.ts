// The scratch folders of one action: an empty HOME, an empty TMPDIR, and shims for tools that the fixed PATH
// misses.
// They exist only while the action runs, or are given to the next action untouched (scratch-pool.ts).
import { chmodSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { TraceReport } from '../../hermeticity/trace/access.ts';
import { removeTemporaryFolder, temporaryFolder } from '../../system/files/temporary-folder.ts';
import type { ScratchFolders } from '../action/environment.ts';
import { realPathOf } from '../files/real-path.ts';
import type { KeyedAction } from '../inputs/keyed-action.ts';
import { locateOnPath, type Tool } from '../tools/tools.ts';
import { type EmptyScratch, type ScratchPool, stampOf } from './scratch-pool.ts';

interface ScratchOptions<T> {
  /** The path at which the action sees a tool. */
  locate?(file: string): string;
  /** Has folders of earlier actions, and takes these afterwards. */
  readonly pool?: ScratchPool | undefined;
  /** What the action did to the folders, if it is known. */
  traceOf?(done: T): TraceReport | undefined;
}

export async function withScratchFolders<T>(
  { tools, environment }: Pick<KeyedAction, 'tools' | 'environment'>,
  work: (folders: ScratchFolders) => Promise<T>,
  { locate = (file) => file, pool, traceOf }: ScratchOptions<T> = {},
): Promise<T> {
  const scratch = pool?.take() ?? makeEmpty();
  const { root, madeAtMs } = scratch;
  let isKept = false;
  try {
    const path = environment.find(({ name }) => name === 'PATH')?.value ?? '';
    const bin = makeShims(root, tools, path, locate);
    const done = await work({ root, madeAtMs, home: join(root, 'home'), tmp: join(root, 'tmp'), bin });
    const trace = bin === undefined ? traceOf?.(done) : undefined;
    isKept = trace !== undefined && pool?.put(scratch, trace) === true;
    return done;
  } finally {
    if (!isKept && !removeEmpty(root)) removeTemporaryFolder(root);
  }
}

function makeEmpty(): EmptyScratch {
  const root = temporaryFolder('run');
  try {
    for (const name of ['home', 'tmp']) mkdirSync(join(root, name));
    return stampOf(root);
  } catch (error) {
    removeTemporaryFolder(root);
    throw error;
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

/** Undefined if the PATH finds every tool. */
function makeShims(
  root: string,
  tools: readonly Tool[],
  path: string,
  locate: (file: string) => string,
): string | undefined {
  const used = tools.flatMap((tool) => [tool, ...tool.interpreters]);
  const hidden = used.filter((tool) => needsShim(path, tool));
  if (hidden.length === 0) return undefined;
  const bin = join(root, 'bin');
  mkdirSync(bin);
  for (const tool of hidden) writeShim(join(bin, basename(tool.name)), locate(tool.file));
  return bin;
}

/** True if the strict PATH does not find the program by its name, or finds another one. */
function needsShim(path: string, { name, file, real }: Tool): boolean {
  if (name.includes('/')) return false;
  const found = locateOnPath(name, path);
  return found === undefined || (found !== file && realPathOf(found) !== real);
}

/**
 * A script that executes the tool, not a link to it. Programs that look for files beside their own path (a
 * Python venv, a shell script with `dirname $0`) then find them.
 */
function writeShim(at: string, file: string): void {
  writeFileSync(at, `#!/bin/sh\nexec '${file.replaceAll("'", `'\\''`)}' "$@"\n`);
  chmodSync(at, 0o755);
}
