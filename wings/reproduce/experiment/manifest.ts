// A manifest: every path of a folder with its content's identity. Comparing two gives what a run changed.
import { createHash } from 'node:crypto';
import {
  type BigIntStats,
  closeSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
} from 'node:fs';
import { childOf, nameFromBytes, type RelPath, ROOT, toSystemPath } from '../../../core/path.ts';
import { retryAfterChmod } from '../../../system/files/remove-tree.ts';
import { REPRODUCE } from '../limits.ts';

/** Kind, content digest and executable bit as one string. Equal strings mean equal results. */
type Identity = string;

export type OutputManifest = ReadonlyMap<RelPath, Identity>;

/** Everything below `root`, by path. Folders that are not empty have no entry. */
export function manifestOf(root: string): Map<RelPath, Identity> {
  const found = new Map<RelPath, Identity>();
  visit(root, ROOT, found);
  return found;
}

/** The paths that the run added, changed or removed. */
export function changesBetween(before: OutputManifest, after: OutputManifest): Map<RelPath, Identity> {
  const made = new Map<RelPath, Identity>();
  for (const [path, identity] of after) if (before.get(path) !== identity) made.set(path, identity);
  for (const path of before.keys()) if (!after.has(path)) made.set(path, 'removed');
  return made;
}

/** Sorted, so that the first one is the same in every report. */
export function differingPaths(a: OutputManifest, b: OutputManifest): RelPath[] {
  const paths = new Set([...a.keys(), ...b.keys()]);
  return [...paths].filter((path) => a.get(path) !== b.get(path)).sort();
}

function visit(root: string, folder: RelPath, found: Map<RelPath, Identity>): void {
  const at = toSystemPath(root, folder);
  const entries = retryAfterChmod(at, () => readdirSync(at, { encoding: 'buffer' }));
  if (entries.length === 0 && folder !== ROOT) found.set(folder, 'folder');
  for (const name of entries) {
    const path = childOf(folder, nameFromBytes(name));
    const status = lstatSync(toSystemPath(root, path), { bigint: true });
    if (status.isDirectory()) visit(root, path, found);
    else found.set(path, identityOf(toSystemPath(root, path), status));
  }
}

function identityOf(path: string | Buffer, status: BigIntStats): Identity {
  if (status.isSymbolicLink()) return `link ${readlinkSync(path, 'latin1')}`;
  if (!status.isFile()) return `special ${status.mode & 0o170000n}`;
  return `file ${digestOfFile(path)} ${(status.mode & 0o100n) !== 0n ? 'executable' : 'plain'}`;
}

function digestOfFile(path: string | Buffer): string {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(REPRODUCE.readBytes);
  const file = retryAfterChmod(path, () => openSync(path, 'r'));
  try {
    for (let got = readSync(file, buffer); got > 0; got = readSync(file, buffer))
      hash.update(buffer.subarray(0, got));
  } finally {
    closeSync(file);
  }
  return hash.digest('hex');
}
