// AbsPath: a canonical absolute path on this machine, as the kernel reports it. It contains no ".", no ".."
// and no symbolic link. A name that is not UTF-8 is encoded as in core/path.ts, so the mapping to bytes is
// one to one.
import { nameFromBytes, nameToBytes, type RelPath, ROOT } from '../../core/path.ts';

declare const absPathBrand: unique symbol;

export type AbsPath = string & { readonly [absPathBrand]: true };

export const FILESYSTEM_ROOT = '/' as AbsPath;

const SLASH = 0x2f;
const SUSPICIOUS = /\ufffd|%bytes:/;

/** `bytes` is a canonical absolute path from a tracer or from realpath. */
export function absPathFromBytes(bytes: Buffer): AbsPath {
  return absPathFromSlice(bytes, 0, bytes.length);
}

/** The same for a slice of a buffer. */
export function absPathFromSlice(bytes: Buffer, start: number, end: number): AbsPath {
  const text = bytes.toString('utf8', start, end);
  if (!SUSPICIOUS.test(text)) return text as AbsPath;
  return `/${partsOf(bytes.subarray(start, end)).map(nameFromBytes).join('/')}` as AbsPath;
}

/**
 * For paths that this process created or resolved: a temporary folder, process.cwd(), realpath of a string.
 */
export function absPath(text: string): AbsPath {
  return absPathFromBytes(Buffer.from(text));
}

/** A symbolic link's target may be any bytes, so each part is encoded like a file name. */
export function linkTargetFromBytes(bytes: Buffer): string {
  const parts = bytes.toString('latin1').split('/');
  return parts.map((part) => nameFromBytes(Buffer.from(part, 'latin1'))).join('/');
}

export function toBytes(path: AbsPath): Buffer {
  if (!SUSPICIOUS.test(path)) return Buffer.from(path);
  return Buffer.from(
    path
      .split('/')
      .map((part) => nameToBytes(part).toString('latin1'))
      .join('/'),
    'latin1',
  );
}

/** Whether the text is the kernel's own name, without encoded bytes. */
export function isPlain(path: AbsPath): boolean {
  return !SUSPICIOUS.test(path);
}

export function isBelow(path: AbsPath, folder: AbsPath): boolean {
  if (folder === FILESYSTEM_ROOT) return path !== FILESYSTEM_ROOT;
  return path.length > folder.length && path.charCodeAt(folder.length) === SLASH && path.startsWith(folder);
}

export function isAtOrBelow(path: AbsPath, folder: AbsPath): boolean {
  return path === folder || isBelow(path, folder);
}

export function parentFolder(path: AbsPath): AbsPath {
  const slash = path.lastIndexOf('/');
  return (slash <= 0 ? '/' : path.slice(0, slash)) as AbsPath;
}

/** All parent folders of `path`: the nearest first, the root last. */
export function* foldersAbove(path: AbsPath): Generator<AbsPath> {
  for (let folder = path; folder !== FILESYSTEM_ROOT; ) {
    folder = parentFolder(folder);
    yield folder;
  }
}

/** `path` relative to `root`; undefined if it lies outside. */
export function relativeIn(root: AbsPath, path: AbsPath): RelPath | undefined {
  if (path === root) return ROOT;
  if (!isBelow(path, root)) return undefined;
  return path.slice(root === FILESYSTEM_ROOT ? 1 : root.length + 1) as RelPath;
}

export function inside(root: AbsPath, path: RelPath): AbsPath {
  if (path === ROOT) return root;
  return (root === FILESYSTEM_ROOT ? `/${path}` : `${root}/${path}`) as AbsPath;
}

/** The target of a symbolic link by its text alone; nothing is read from disk. */
export function targetOfLink(link: AbsPath, target: string): AbsPath {
  const parts = target.startsWith('/') ? [] : parentFolder(link).split('/').filter(Boolean);
  for (const part of target.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}` as AbsPath;
}

/**
 * A path as people and scripts see it: relative inside the workspace, "../x" beside it, else absolute. Bytes
 * that are not UTF-8 appear as %XX.
 */
export function displayPath(path: AbsPath, workspace: AbsPath): string {
  const relative = relativeIn(workspace, path);
  if (relative !== undefined) return relative === ROOT ? '.' : readable(relative);
  const beside = parentFolder(workspace);
  const sibling = beside === FILESYSTEM_ROOT ? undefined : relativeIn(beside, path);
  if (sibling !== undefined) return sibling === ROOT ? '..' : `../${readable(sibling)}`;
  return readable(path);
}

/** Writes bytes that are not UTF-8 as %XX, in a path, a name or an argument. */
export function readable(path: string): string {
  if (!SUSPICIOUS.test(path)) return path;
  return path
    .split('/')
    .map((part) => percentEncodeBroken(nameToBytes(part)))
    .join('/');
}

function percentEncodeBroken(bytes: Buffer): string {
  const text: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = validSequenceLength(bytes, at);
    if (length === 0) text.push(`%${bytes.toString('hex', at, at + 1).toUpperCase()}`);
    else text.push(bytes.toString('utf8', at, at + length));
    at += Math.max(1, length);
  }
  return text.join('');
}

/** The length of the UTF-8 character that starts at `at`; 0 if there is none. */
function validSequenceLength(bytes: Buffer, at: number): number {
  for (let length = 1; length <= 4 && at + length <= bytes.length; length++) {
    const piece = bytes.subarray(at, at + length);
    if (Buffer.from(piece.toString('utf8')).equals(piece)) return length;
  }
  return 0;
}

function partsOf(bytes: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let start = 1; start <= bytes.length; ) {
    const slash = bytes.indexOf(SLASH, start);
    const end = slash === -1 ? bytes.length : slash;
    if (end > start) parts.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return parts;
}
