// Finds the installation folder of a tool that is not part of the system. Everything in that folder is the
// tool's toolchain, not an undeclared input.
import { type AbsPath, isAtOrBelow, parentFolder } from './absolute-path.ts';

/** Folders for programs; their parent is the installation. */
const PROGRAM_FOLDERS = new Set(['bin', 'sbin', 'libexec', 'shims']);

/**
 * The installation of `program`: the outermost node_modules around it, or the parent of its bin folder.
 * Undefined if that folder contains one of `keepOut` (the workspace, the user's home): ~/bin is no
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
