// The entries of one directory, sorted, under names that a RelPath may hold.
import { type Dirent, lstatSync, readdirSync } from 'node:fs';
import { AssayError, isSystemError, messageOf } from '../../core/errors.ts';
import { nameFromBytes, type RelPath, toSystemPath } from '../../core/path.ts';

export interface FolderEntry {
  readonly name: string;
  readonly isFolder: boolean;
}

/** A missing directory lists as empty; the digest of the inputs shows that it is gone. */
export function folderEntries(root: string, folder: RelPath): FolderEntry[] {
  const systemPath = toSystemPath(root, folder);
  try {
    const entries = readdirSync(systemPath, { withFileTypes: true });
    return (entries.some(needsBytes) ? listAsBytes(systemPath) : entries.map(plain)).sort(byName);
  } catch (cause) {
    if (isSystemError(cause, 'ENOENT')) return [];
    throw new AssayError('ASSAY_INPUT_UNREADABLE', `${folder || '.'}: ${messageOf(cause)}`, { cause });
  }
}

/**
 * True if a name may be invalid UTF-8 (it decodes with U+FFFD in it) or starts with the marker of an escaped
 * name.
 */
function needsBytes(entry: Dirent): boolean {
  return entry.name.includes('\ufffd') || entry.name.startsWith('%bytes:');
}

/** Bun returns no types when names are asked for as bytes, so each entry gets an lstat. */
function listAsBytes(systemPath: string | Buffer): FolderEntry[] {
  const folder = Buffer.concat([Buffer.from(systemPath), SLASH]);
  return readdirSync(systemPath, { encoding: 'buffer' }).map((bytes) => {
    const stats = lstatSync(Buffer.concat([folder, bytes]), { throwIfNoEntry: false });
    return { name: nameFromBytes(bytes), isFolder: stats?.isDirectory() ?? false };
  });
}

const SLASH = Buffer.from('/');

function plain(entry: Dirent): FolderEntry {
  return { name: entry.name, isFolder: entry.isDirectory() };
}

function byName(a: FolderEntry, b: FolderEntry): number {
  return a.name < b.name ? -1 : 1;
}
