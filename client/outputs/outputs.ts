// Outputs as values: the output that a result names, and the output that is on disk.
// Two outputs are equal if their bytes, executable bits, links and directories are, with no extra entry.
import { lstatSync, readlinkSync, type Stats } from 'node:fs';
import { type Digest, digestOf, parseDigest } from '../../core/digest.ts';
import { AssayError, messageOf } from '../../core/errors.ts';
import {
  join,
  nameFromBytes,
  nameOf,
  parentOf,
  type RelPath,
  ROOT,
  resolveFrom,
  toSystemPath,
} from '../../core/path.ts';
import type { ActionResult } from '../../core/proto/generated/reapi.ts';
import { decodeTree, type Entry, encodeTree } from '../../core/tree.ts';
import { isReservedName } from '../action/reserved.ts';
import type { FileDigests } from '../files/file-digest.ts';
import { leavesWorkspace } from '../files/links.ts';
import { folderEntries } from '../files/list-folder.ts';

export type Output =
  | { readonly kind: 'file'; readonly path: RelPath; readonly digest: Digest; readonly executable: boolean }
  | { readonly kind: 'symlink'; readonly path: RelPath; readonly target: string }
  /** The entries' paths are relative to the folder. */
  | { readonly kind: 'directory'; readonly path: RelPath; readonly entries: readonly Entry[] };

/** The outputs that a result names, as paths in the workspace. `readTree` fetches a Tree by its digest. */
export async function outputsNamedBy(
  result: ActionResult,
  workingDirectory: RelPath,
  readTree: (digest: Digest) => Promise<Uint8Array>,
): Promise<Output[]> {
  const outputs: Output[] = [];
  for (const { path, digest, isExecutable } of result.outputFiles) {
    const at = resolveFrom(workingDirectory, path);
    outputs.push({
      kind: 'file',
      path: at,
      digest: parseDigest(digest ?? failWithoutDigest(path)),
      executable: isExecutable,
    });
  }
  for (const { path, target } of [
    ...result.outputSymlinks,
    ...result.outputFileSymlinks,
    ...result.outputDirectorySymlinks,
  ]) {
    outputs.push({ kind: 'symlink', path: resolveFrom(workingDirectory, path), target });
  }
  for (const { path, treeDigest } of result.outputDirectories) {
    const tree = await readTree(parseDigest(treeDigest ?? failWithoutDigest(path)));
    outputs.push({ kind: 'directory', path: resolveFrom(workingDirectory, path), entries: decodeTree(tree) });
  }
  return outputs;
}

/** The output that is on disk; undefined if nothing is there. */
export function observeOutput(workspace: string, path: RelPath, digests: FileDigests): Output | undefined {
  const stats = lstat(workspace, path);
  if (!stats) return undefined;
  if (!stats.isDirectory()) return observeLeaf(workspace, path, path, stats, digests);
  const entries: Entry[] = [];
  observeFolder(workspace, path, ROOT, digests, entries);
  return { kind: 'directory', path, entries };
}

export function sameOutput(a: Output | undefined, b: Output): boolean {
  if (a === undefined || a.kind !== b.kind) return false;
  if (a.kind === 'directory' && b.kind === 'directory' && haveSameEntries(a.entries, b.entries)) return true;
  return fingerprint(a) === fingerprint(b);
}

/** Compares entry by entry: faster than encoding a hundred thousand entries. */
function haveSameEntries(present: readonly Entry[], wanted: readonly Entry[]): boolean {
  if (present.length !== wanted.length) return false;
  const byPath = new Map(wanted.map((entry) => [entry.path, entry]));
  if (byPath.size !== wanted.length) return false;
  return present.every((entry) => isSameEntry(byPath.get(entry.path), entry));
}

function isSameEntry(a: Entry | undefined, b: Entry): boolean {
  if (a?.kind === 'file' && b.kind === 'file')
    return a.digest.hash === b.digest.hash && a.executable === b.executable;
  if (a?.kind === 'symlink' && b.kind === 'symlink') return a.target === b.target;
  return a?.kind === 'directory' && b.kind === 'directory';
}

/**
 * Why an output must be neither stored nor restored; undefined if it may be. A link that leaves the workspace
 * means something else in another checkout. A file in git's folder or in Assay's, at any depth, could run or
 * end programs.
 */
export function whyUnfit(output: Output): string | undefined {
  if (output.path.split('/').some(isReservedName)) return whyReserved(output.path);
  const parts = output.kind === 'directory' ? output.entries : [output];
  for (const part of parts) {
    const at = output.kind === 'directory' ? join(output.path, part.path) : part.path;
    // Each parent folder has an entry of its own, so the last name is enough.
    if (isReservedName(nameOf(at))) return whyReserved(at);
    if (part.kind !== 'symlink') continue;
    if (leavesWorkspace(at, part.target)) return `${at} is a link that leaves the workspace`;
    if (part.target.split('/').some(isReservedName)) return `${at} is a link to ${part.target}`;
  }
  return undefined;
}

function whyReserved(path: RelPath): string {
  return `${path} is not for a cache to keep: it is git’s own, or Assay’s`;
}

/** The kind and content of an entry as one string, without its path. */
export function contentIdOf(entry: Entry | Output): string {
  if (entry.kind === 'file') return `file ${entry.digest.hash} ${entry.executable}`;
  return entry.kind === 'symlink' ? `symlink ${entry.target}` : 'directory';
}

function fingerprint(output: Output): string {
  return output.kind === 'directory' ? digestOf(encodeTree(output.entries)).hash : contentIdOf(output);
}

function observeFolder(
  workspace: string,
  root: RelPath,
  folder: RelPath,
  digests: FileDigests,
  entries: Entry[],
): void {
  for (const { name, isFolder } of folderEntries(workspace, join(root, folder))) {
    const path = (folder === ROOT ? name : `${folder}/${name}`) as RelPath;
    if (isFolder) {
      entries.push({ kind: 'directory', path });
      observeFolder(workspace, root, path, digests, entries);
      continue;
    }
    const full = join(root, path);
    const stats = lstat(workspace, full);
    if (stats) entries.push(observeLeaf(workspace, full, path, stats, digests));
  }
}

/** `at`: the path in the workspace. `path`: the path in the entry. */
function observeLeaf(
  workspace: string,
  at: RelPath,
  path: RelPath,
  stats: Stats,
  digests: FileDigests,
): Entry & { kind: 'file' | 'symlink' } {
  const locate = () => toSystemPath(workspace, at);
  if (stats.isSymbolicLink()) {
    return { kind: 'symlink', path, target: nameFromBytes(readlinkSync(locate(), 'buffer')) };
  }
  if (!stats.isFile()) throw new AssayError('ASSAY_OUTPUT_UNFIT', `${at} is a device, a socket or a pipe`);
  const digest = digests.digest(at, stats, locate);
  return { kind: 'file', path, digest, executable: (stats.mode & 0o100) !== 0 };
}

/** Refuses an output below a symbolic link: the link could point anywhere. */
export function refuseLinkedParents(workspace: string, path: RelPath): void {
  for (let folder = parentOf(path); folder !== ROOT; folder = parentOf(folder)) {
    if (!lstat(workspace, folder)?.isSymbolicLink()) continue;
    throw new AssayError('ASSAY_OUTPUT_UNFIT', `${path} lies behind the symbolic link ${folder}`);
  }
}

/** The folders above the outputs, without the workspace itself; the outermost of each output last. */
export function foldersOfOutputs(outputs: readonly RelPath[]): RelPath[] {
  const folders = new Set<RelPath>();
  for (const output of outputs)
    for (let folder = parentOf(output); folder !== ROOT; folder = parentOf(folder)) folders.add(folder);
  return [...folders];
}

function lstat(workspace: string, path: RelPath): Stats | undefined {
  try {
    return lstatSync(toSystemPath(workspace, path), { throwIfNoEntry: false });
  } catch (cause) {
    throw new AssayError('ASSAY_OUTPUT_UNFIT', messageOf(cause), { cause });
  }
}

function failWithoutDigest(path: string): never {
  throw new AssayError('ASSAY_RESULT_MALFORMED', `the output ${JSON.stringify(path)} has no digest`);
}
