// Where a tool that is not the system's was installed: a program seldom comes alone, and what came with it is its
// toolchain, not an undeclared input.
import { type AbsPath, isAtOrBelow, parentFolder } from '../system/absolute-path.ts';

/** Folders for programs, beside which an installation keeps everything else. */
const PROGRAM_FOLDERS = new Set(['bin', 'sbin', 'libexec', 'shims']);

/**
 * The folder of everything that came with `program`: the outermost node_modules that it lies in, or the folder whose bin
 * it lies in. Undefined where that would take in one of `keepOut` (the workspace, the person's home): ~/bin is no
 * installation.
 */
export function installationOf(program: AbsPath, keepOut: readonly AbsPath[]): AbsPath | undefined {
  const installation = nodeModulesOf(program) ?? prefixOf(program);
  const tooMuch = installation !== undefined && keepOut.some((place) => isAtOrBelow(place, installation));
  return tooMuch ? undefined : installation;
}

function nodeModulesOf(program: AbsPath): AbsPath | undefined {
  const end = program.indexOf('/node_modules/');
  return end === -1 ? undefined : (program.slice(0, end + '/node_modules'.length) as AbsPath);
}

function prefixOf(program: AbsPath): AbsPath | undefined {
  const folder = parentFolder(program);
  return PROGRAM_FOLDERS.has(folder.slice(folder.lastIndexOf('/') + 1)) ? parentFolder(folder) : undefined;
}
