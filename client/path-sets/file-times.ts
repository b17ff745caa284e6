// Refuses to publish a result that may depend on file times: a tool compared the times of a leftover file.
// Neither the key nor the path set holds a file's age, so a leftover from an earlier run would decide the
// result.
//
// These files are harmless: sources, outputs of other steps, installed packages, and files that the run made
// itself.
// Sources are harmless because the outputs are set aside: the tool makes everything that depends on them
// again.
// A declared input counts as a source, unless it is a compiled file that only a wildcard names and git does
// not track.
// With observed inputs a file counts as a source unless it is compiled or ignored, and not tracked by git.
// An undeclared file counts as a source only if git tracks it.
// A generated text file that is not ignored is mistaken for a source.
import { lstatSync } from 'node:fs';
import { childOf, parentOf, type RelPath, ROOT, toSystemPath } from '../../core/path.ts';
import type { TimedRead } from '../../hermeticity/verdict/file-times.ts';
import { absPath, readable, relativeIn } from '../../system/paths/absolute-path.ts';
import type { RunRequest } from '../action/request.ts';
import { StatRecorder } from '../files/stat-recorder.ts';
import { isInRepository, isTracked } from '../inputs/git-tracked.ts';
import { IgnoredPaths } from '../inputs/ignored-paths.ts';

const INSTALLED = /(?:^|\/)(?:node_modules|site-packages)\//;
const COMPILED =
  /\.(?:o|obj|lo|la|a|so(?:\.\d+)*|dylib|dll|exe|d|gch|pch|pcm|py[co]|class|jar|tsbuildinfo|cm[iox]|cmxa|hi|beam|rlib|rmeta|stamp|ninja_log|ninja_deps)$/;

export function timeRefusal(request: Request, reads: readonly TimedRead[]): string | undefined {
  const { workspace } = request;
  const ignored = new IgnoredPaths(new StatRecorder(workspace));
  for (const { path: at, tool, isInput } of reads) {
    const path = relativeIn(absPath(workspace), at);
    if (path === undefined || !isFile(workspace, path) || isInstalled(workspace, path)) continue;
    if (isInput ? isDeclaredSource(path, request) : isSource(path, request, ignored)) continue;
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

function isSource(path: RelPath, { workspace, observed }: Request, ignored: IgnoredPaths): boolean {
  const looksLikeSource = observed && !COMPILED.test(path) && !ignored.hides(path, false);
  return looksLikeSource || isTracked(workspace, path) === true;
}

function remedyFor(tool: string): string {
  if (tool === 'Python') return 'declare its source as an input, or remove __pycache__';
  return 'declare it as an output if the command makes it, else as an input, or remove it';
}

function isFile(workspace: string, path: RelPath): boolean {
  return lstatSync(toSystemPath(workspace, path), { throwIfNoEntry: false })?.isFile() === true;
}

/** True in node_modules and in a Python virtual environment. */
function isInstalled(workspace: string, path: RelPath): boolean {
  if (INSTALLED.test(path)) return true;
  for (let folder = parentOf(path); folder !== ROOT; folder = parentOf(folder))
    if (isFile(workspace, childOf(folder, 'pyvenv.cfg'))) return true;
  return false;
}
