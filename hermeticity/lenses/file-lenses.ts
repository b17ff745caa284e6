// Lenses of files: which part of a file's content a program can act on. A fact stores the name of its lens.
// Like the lenses of listings, one never changes: a different one gets a new name.

/**
 * `pyc-source-1`: a compiled Python module that only the importer opened counts by its source, if it was made from
 * it. `pyc-bytes-1`: it counts by its bytes, and by whether Python would use it.
 */
export type CompiledLens = 'pyc-source-1' | 'pyc-bytes-1';

/**
 * `place-1`: the file counts without the path of the workspace, where an installer wrote it down. Only the programs
 * that it was written for looked at it.
 */
export type FileLens = CompiledLens | 'place-1';

const NAMES: ReadonlySet<string> = new Set(['pyc-source-1', 'pyc-bytes-1', 'place-1'] satisfies FileLens[]);

export function isFileLens(name: string): name is FileLens {
  return NAMES.has(name);
}
