// RelPath: a checked path relative to a root. Only this file makes one from a string. It never leaves its
// root: it is "/"-separated, without empty parts, ".", ".." or NUL. "" is the root itself.
//
// A RelPath is always valid Unicode, because REAPI keeps names as proto strings. Linux allows names that are
// not UTF-8. Such a name is encoded as a marker and its bytes in hex. A name that begins with the marker is
// encoded the same way, so the encoding is one to one. Every other name is unchanged.

import { AssayError } from './errors.ts';
import { NAMES } from './limits.ts';

declare const relPathBrand: unique symbol;

export type RelPath = string & { readonly [relPathBrand]: true };

export const ROOT = '' as RelPath;

const BYTES_MARKER = '%bytes:';

export function parseRelPath(text: string): RelPath {
  if (text === '') return ROOT;
  if (text.length > NAMES.maxPathLength) throw badPath(text, 'longer than 4096');
  for (const part of text.split('/')) checkPart(part, text);
  return text as RelPath;
}

/** Parses a path as people type it: "./a//b/" is "a/b", "." is the root. ".." is refused. */
export function relPathFromUser(text: string): RelPath {
  if (text.startsWith('/')) throw badPath(text, 'absolute');
  return parseRelPath(
    text
      .split('/')
      .filter((part) => part !== '' && part !== '.')
      .join('/'),
  );
}

export function join(parent: RelPath, child: RelPath): RelPath {
  if (parent === ROOT) return child;
  return (child === ROOT ? parent : `${parent}/${child}`) as RelPath;
}

/** `parent` with one name added. Checks only that name, so that the cost does not depend on the depth. */
export function childOf(parent: RelPath, name: string): RelPath {
  if (name.includes('/')) throw badPath(name, 'more than one name');
  checkPart(name, name);
  const path = parent === ROOT ? name : `${parent}/${name}`;
  if (path.length > NAMES.maxPathLength) throw badPath(path, 'longer than 4096');
  return path as RelPath;
}

export function parentOf(path: RelPath): RelPath {
  return path.slice(0, Math.max(0, path.lastIndexOf('/'))) as RelPath;
}

export function nameOf(path: RelPath): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** True when `path` is `ancestor` or is below it. */
export function isWithin(path: RelPath, ancestor: RelPath): boolean {
  return ancestor === ROOT || path === ancestor || path.startsWith(`${ancestor}/`);
}

/**
 * `path` relative to `base`. It may begin with "../": REAPI keeps outputs relative to the working directory.
 */
export function relativeTo(base: RelPath, path: RelPath): string {
  const from = base === ROOT ? [] : base.split('/');
  const to = path === ROOT ? [] : path.split('/');
  let shared = 0;
  while (shared < from.length && shared < to.length && from[shared] === to[shared]) shared++;
  return [...from.slice(shared).map(() => '..'), ...to.slice(shared)].join('/');
}

/** The inverse of relativeTo. Refuses a path above the root. */
export function resolveFrom(base: RelPath, relative: string): RelPath {
  const parts = base === ROOT ? [] : base.split('/');
  for (const part of relative.split('/')) {
    if (part === '..') {
      if (parts.pop() === undefined) throw badPath(relative, 'above the root');
    } else if (part !== '' || relative !== '') {
      parts.push(part);
    }
  }
  return parseRelPath(parts.join('/'));
}

/** The name in a RelPath of a directory entry. `bytes` is the name that the kernel returned. */
export function nameFromBytes(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  const standsForItself = !text.startsWith(BYTES_MARKER) && Buffer.from(text, 'utf8').equals(bytes);
  return standsForItself ? text : BYTES_MARKER + bytes.toString('hex');
}

/** The path for a system call: `path` below `root` as a string, or as bytes where a name is not UTF-8. */
export function toSystemPath(root: string, path: RelPath): string | Buffer {
  const base = path === ROOT ? root : `${root}/${path}`;
  if (!path.includes(BYTES_MARKER)) return base;
  const parts = path.split('/').map(nameToBytes);
  return Buffer.concat([Buffer.from(root), ...parts.flatMap((part) => [SLASH, part])]);
}

const SLASH = Buffer.from('/');

export function nameToBytes(name: string): Buffer {
  return name.startsWith(BYTES_MARKER)
    ? Buffer.from(name.slice(BYTES_MARKER.length), 'hex')
    : Buffer.from(name, 'utf8');
}

/** Compares by UTF-8 bytes, as REAPI sorts. JavaScript's own order differs beyond U+FFFF. */
export function compareNames(a: string, b: string): number {
  if (a === b) return 0;
  const plain = a < b ? -1 : 1;
  return hasSurrogate(a) || hasSurrogate(b) ? Buffer.compare(Buffer.from(a), Buffer.from(b)) : plain;
}

const SURROGATE = /[\ud800-\udfff]/;

function hasSurrogate(text: string): boolean {
  return SURROGATE.test(text);
}

function checkPart(part: string, whole: string): void {
  if (part === '') throw badPath(whole, 'absolute, or has an empty part');
  if (part === '.' || part === '..') throw badPath(whole, `has a part "${part}"`);
  if (part.includes('\0') || !part.isWellFormed()) throw badPath(whole, 'holds NUL or broken Unicode');
  const bytes = part.startsWith(BYTES_MARKER) ? markedBytes(part, whole) : undefined;
  if ((bytes?.length ?? Buffer.byteLength(part)) > NAMES.maxFileNameBytes)
    throw badPath(whole, 'has a name over 255 bytes');
}

/** The bytes of a marked name. It must be one that nameFromBytes makes: else it could hide a "/" or "..". */
function markedBytes(part: string, whole: string): Buffer {
  const bytes = nameToBytes(part);
  const isName = bytes.length > 0 && !bytes.includes(0) && !bytes.includes(0x2f);
  if (!isName || nameFromBytes(bytes) !== part) throw badPath(whole, 'misuses the marker for raw bytes');
  return bytes;
}

function badPath(path: string, why: string): AssayError {
  return new AssayError('ASSAY_BAD_PATH', `${JSON.stringify(path.slice(0, 200))} is refused: ${why}`);
}
