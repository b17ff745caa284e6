// Encodes a flat list of entries as canonical REAPI Directory messages, or as one Tree, and decodes a Tree.
// Canonical means: the same files give the same bytes, in whatever order they were found.
//
// Empty folders are kept. Symbolic links are kept as links. Times and owners are not kept.
import { type Digest, DigestSet, digestOf, type Hash, parseDigest, toWire } from './digest.ts';
import { AssayError } from './errors.ts';
import { EXPANDED_TREE } from './limits.ts';
import { decodeStrict, rawMessages } from './message.ts';
import { childOf, compareNames, nameOf, parentOf, type RelPath, ROOT } from './path.ts';
import { Directory, Tree } from './proto/generated/reapi.ts';
import { TREE } from './proto/shapes.ts';

export type Entry =
  | { readonly kind: 'file'; readonly path: RelPath; readonly digest: Digest; readonly executable: boolean }
  | { readonly kind: 'symlink'; readonly path: RelPath; readonly target: string }
  | { readonly kind: 'directory'; readonly path: RelPath };

export interface EncodedDirectories {
  readonly root: Digest;
  /** The encoding of each distinct folder, by its hash. */
  readonly blobs: ReadonlyMap<Hash, Uint8Array>;
}

/** Encodes the input root of an action. */
export function encodeDirectories(entries: readonly Entry[]): EncodedDirectories {
  const blobs = new Map<Hash, Uint8Array>();
  const root = encodeFolder(nestEntries(entries), (message) => {
    const bytes = Directory.encode(message).finish();
    const digest = digestOf(bytes);
    blobs.set(digest.hash, bytes);
    return digest;
  });
  return { root: root.digest, blobs };
}

/** Encodes one output folder. The paths of the entries are relative to it. */
export function encodeTree(entries: readonly Entry[]): Uint8Array {
  const children = new Map<Hash, Directory>();
  const root = encodeFolder(nestEntries(entries), (message) => {
    const digest = digestOf(Directory.encode(message).finish());
    children.set(digest.hash, message);
    return digest;
  });
  children.delete(root.digest.hash);
  return Tree.encode({ root: root.message, children: [...children.values()] }).finish();
}

/**
 * The entries of a Tree, parents before children. Refuses names that leave the Tree, and a Tree that lacks a
 * folder.
 */
export function decodeTree(bytes: Uint8Array): Entry[] {
  const tree = decodeMessage(bytes);
  const addresses = rawMessages(bytes, CHILDREN_FIELD).map((child) => digestOf(child).hash);
  const children = new Map<string, Directory>(tree.children.map((child, at) => [addresses[at] ?? '', child]));
  const expanded = new ExpandedTree();
  flatten(tree.root ?? emptyDirectory(), ROOT, children, expanded);
  return expanded.entries;
}

/** The digest of every file in a Tree, each once. Refuses a Tree that lacks a folder that it names. */
export function filesInTree(bytes: Uint8Array): Digest[] {
  const tree = decodeMessage(bytes);
  const held = new Set<string>(rawMessages(bytes, CHILDREN_FIELD).map((child) => digestOf(child).hash));
  const leaves = new DigestSet();
  for (const directory of [tree.root ?? emptyDirectory(), ...tree.children]) {
    for (const { name, digest } of directory.files) leaves.add(parseDigest(digest ?? missingDigest(name)));
    const missing = directory.directories.find(({ digest }) => !held.has(digest?.hash ?? ''));
    if (missing) throw malformed(`a Tree does not hold its folder ${JSON.stringify(missing.name)}`);
  }
  return leaves.values();
}

/** The field number of Tree.children. A child's address is the digest of its bytes as they were sent. */
const CHILDREN_FIELD = 2;

interface Folder {
  readonly files: Directory['files'];
  readonly symlinks: Directory['symlinks'];
  readonly folders: Map<string, Folder>;
}

function nestEntries(entries: readonly Entry[]): Folder {
  const byPath = new Map<RelPath, Folder>([[ROOT, newFolder()]]);
  let parent = folderAt(ROOT, byPath);
  let parentPath = ROOT;
  for (const entry of entries) {
    if (entry.kind === 'directory') {
      folderAt(entry.path, byPath);
      continue;
    }
    const path = parentOf(entry.path);
    if (path !== parentPath) {
      parent = folderAt(path, byPath);
      parentPath = path;
    }
    const name = nameOf(entry.path);
    if (entry.kind === 'file') {
      parent.files.push({ name, digest: toWire(entry.digest), isExecutable: entry.executable });
    } else {
      parent.symlinks.push({ name, target: entry.target });
    }
  }
  return folderAt(ROOT, byPath);
}

function folderAt(path: RelPath, byPath: Map<RelPath, Folder>): Folder {
  const known = byPath.get(path);
  if (known) return known;
  const folder = newFolder();
  byPath.set(path, folder);
  folderAt(parentOf(path), byPath).folders.set(nameOf(path), folder);
  return folder;
}

function newFolder(): Folder {
  return { files: [], symlinks: [], folders: new Map() };
}

/**
 * Encodes children first, because a folder names its children by digest. Folders are encoded in the order of
 * their names: a Tree lists them in the order of encoding, which must not depend on the disk.
 */
function encodeFolder(
  folder: Folder,
  encode: (message: Directory) => Digest,
): { message: Directory; digest: Digest } {
  const names = [...folder.folders.keys()].sort(compareNames);
  const directories = names.map((name) => {
    const child = folder.folders.get(name) ?? newFolder();
    return { name, digest: toWire(encodeFolder(child, encode).digest) };
  });
  const message: Directory = {
    files: folder.files.sort(byName),
    directories,
    symlinks: folder.symlinks.sort(byName),
  };
  checkDistinct(message);
  return { message, digest: encode(message) };
}

/**
 * Refuses two entries with one name. A file system has none, so this is a bug: the key would be ambiguous.
 */
function checkDistinct({ files, directories, symlinks }: Directory): void {
  const names = new Set<string>();
  for (const { name } of [...files, ...directories, ...symlinks]) {
    if (names.has(name)) throw new AssayError('ASSAY_INTERNAL', `an entry twice: ${JSON.stringify(name)}`);
    names.add(name);
  }
}

function byName(a: { name: string }, b: { name: string }): number {
  return compareNames(a.name, b.name);
}

/**
 * The entries of a Tree, bounded in number and in length of paths. A Tree of a few kilobytes can name one
 * folder many times at each level, and so expand to more than any machine can hold.
 */
class ExpandedTree {
  readonly entries: Entry[] = [];
  private pathLength = 0;

  add(entry: Entry): void {
    this.entries.push(entry);
    this.pathLength += entry.path.length;
    if (this.entries.length > EXPANDED_TREE.maxEntries || this.pathLength > EXPANDED_TREE.maxPathLength) {
      throw malformed('a Tree unfolds to more entries than Assay restores');
    }
  }
}

function flatten(
  directory: Directory,
  at: RelPath,
  children: ReadonlyMap<string, Directory>,
  expanded: ExpandedTree,
): void {
  const seen = new Set<string>();
  const pathOf = (name: string): RelPath => {
    if (seen.has(name)) throw malformed(`a Tree holds ${JSON.stringify(name)} twice in one folder`);
    seen.add(name);
    return childOf(at, name);
  };
  for (const file of directory.files) {
    const digest = parseDigest(file.digest ?? missingDigest(file.name));
    expanded.add({ kind: 'file', path: pathOf(file.name), digest, executable: file.isExecutable });
  }
  for (const link of directory.symlinks) {
    const path = pathOf(link.name);
    if (link.target === '' || link.target.includes('\0')) {
      throw malformed(`the link ${JSON.stringify(path)} has no possible target`);
    }
    expanded.add({ kind: 'symlink', path, target: link.target });
  }
  for (const node of directory.directories) {
    const path = pathOf(node.name);
    const child = children.get(node.digest?.hash ?? '');
    if (!child) throw malformed(`a Tree does not hold its folder ${JSON.stringify(path)}`);
    expanded.add({ kind: 'directory', path });
    flatten(child, path, children, expanded);
  }
}

function decodeMessage(bytes: Uint8Array): Tree {
  return decodeStrict(Tree, TREE, bytes, 'a blob that a result names as a Tree is not one');
}

function emptyDirectory(): Directory {
  return { files: [], directories: [], symlinks: [] };
}

function missingDigest(name: string): never {
  throw malformed(`the file ${JSON.stringify(name)} has no digest`);
}

function malformed(detail: string): AssayError {
  return new AssayError('ASSAY_RESULT_MALFORMED', detail);
}
