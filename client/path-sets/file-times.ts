// Why a result must not be kept because a tool went by file times: what an earlier run or a person left in the workspace then
// decides what the tool makes, and neither a key nor a path set says how old it is.
//
// Harmless are sources (the tool makes what depends on them from nothing, because outputs are put aside), what other steps
// make, installed packages, and what the run made itself. A declared input is taken for a source, unless it is a compiled file
// that only a wildcard names and that git does not track. With observed inputs nothing is declared: there a file is taken for
// a source unless it is compiled or .gitignore hides it, and git does not track it. Generated text that nobody ignores is not told
// from a source.
import { lstatSync } from 'node:fs';
import { childOf, parentOf, type RelPath, ROOT, toSystemPath } from '../../core/path.ts';
import { absPath, readable, relativeIn } from '../../hermeticity/system/absolute-path.ts';
import type { TimedRead } from '../../hermeticity/verdict/file-times.ts';
import type { RunRequest } from '../action/request.ts';
import { StatRecorder } from '../files/stat-recorder.ts';
import { isInRepository, isTracked } from '../inputs/git-tracked.ts';
import { IgnoredPaths } from '../inputs/ignored-paths.ts';

const INSTALLED = /(?:^|\/)(?:node_modules|site-packages)\//;
const COMPILED =
  /\.(?:o|obj|lo|la|a|so(?:\.\d+)*|dylib|dll|exe|d|gch|pch|pcm|py[co]|class|jar|tsbuildinfo|cm[iox]|cmxa|hi|beam|rlib|rmeta|stamp|ninja_log|ninja_deps)$/;

export function timeRefusal(request: Request, looks: readonly TimedRead[]): string | undefined {
  const { workspace } = request;
  const ignored = new IgnoredPaths(new StatRecorder(workspace));
  for (const { path: at, tool, isInput } of looks) {
    const path = relativeIn(absPath(workspace), at);
    if (path === undefined || !isFile(workspace, path) || isInstalled(workspace, path)) continue;
    if (isInput ? isDeclaredSource(path, request) : request.observed && isSource(path, workspace, ignored))
      continue;
    return `${tool} goes by file times and looked at ${readable(path)}, which an earlier run or a person left there; ${remedyFor(tool)}`;
  }
  return undefined;
}

type Request = Pick<RunRequest, 'workspace' | 'observed' | 'inputs'>;

function isDeclaredSource(path: RelPath, { workspace, inputs }: Request): boolean {
  if (!COMPILED.test(path)) return true;
  const isNamed = inputs.some(({ pattern }) => path === pattern || path.startsWith(`${pattern}/`));
  return isNamed || !isInRepository(workspace) || isTracked(workspace, path) !== false;
}

function isSource(path: RelPath, workspace: string, ignored: IgnoredPaths): boolean {
  return !(COMPILED.test(path) || ignored.hides(path, false)) || isTracked(workspace, path) === true;
}

function remedyFor(tool: string): string {
  if (tool === 'Python') return 'remove __pycache__ and declare --env PYTHONDONTWRITEBYTECODE=1';
  return 'declare it as an output if the command makes it, else as an input, or remove it';
}

function isFile(workspace: string, path: RelPath): boolean {
  return lstatSync(toSystemPath(workspace, path), { throwIfNoEntry: false })?.isFile() === true;
}

/** In node_modules, or in a virtual environment of Python. */
function isInstalled(workspace: string, path: RelPath): boolean {
  if (INSTALLED.test(path)) return true;
  for (let folder = parentOf(path); folder !== ROOT; folder = parentOf(folder))
    if (isFile(workspace, childOf(folder, 'pyvenv.cfg'))) return true;
  return false;
}
