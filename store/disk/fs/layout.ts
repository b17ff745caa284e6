// The paths in a store's folder. docs/FORMAT.md describes the whole format.
// The format version is a folder's name, so a store of another version is never opened by mistake.
import { existsSync, readdirSync, renameSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Hash, isHash } from '../../../core/digest.ts';
import { AssayError, isSystemError } from '../../../core/errors.ts';
import { faultOf } from './faults.ts';

export const LAYOUT_VERSION = 'v5';
/**
 * This version reads their records, so upgrading only renames the folder. An older Assay then refuses the
 * store.
 */
const EARLIER = ['v4', 'v3', 'v2', 'v1'];

export interface Layout {
  readonly index: string;
  readonly files: string;
  readonly staging: string;
  readonly quarantine: string;
}

/** Refuses a folder with a store of another version. `create` makes a store that does not exist yet. */
export async function prepareLayout(
  directory: string,
  create: (layout: Layout) => Promise<void>,
): Promise<Layout> {
  const root = resolve(directory);
  const layout = layoutIn(join(root, LAYOUT_VERSION));
  try {
    adoptEarlier(root);
    refuseOtherVersions(root);
    if (!existsSync(layout.quarantine)) await create(layout);
  } catch (cause) {
    throw faultOf(`opening the store ${root}`, cause);
  }
  return layout;
}

/** For commands that examine a store: opening would create an empty one. */
export function refuseIfNoStore(folder: string): void {
  const isThere = existsSync(folder) && readdirSync(folder).some((name) => /^v\d+$/.test(name));
  if (!isThere) throw new AssayError('ASSAY_NO_STORE', `${folder} holds no store`);
}

export function layoutIn(base: string): Layout {
  return {
    index: join(base, 'index'),
    files: join(base, 'files'),
    staging: join(base, 'staging'),
    quarantine: join(base, 'quarantine'),
  };
}

function adoptEarlier(root: string): void {
  const to = join(root, LAYOUT_VERSION);
  const from = EARLIER.map((name) => join(root, name)).find((path) => existsSync(path));
  if (from === undefined || existsSync(to)) return;
  try {
    renameSync(from, to);
  } catch (error) {
    // Another process renamed it first.
    if (!isSystemError(error, 'ENOENT', 'ENOTEMPTY', 'EEXIST')) throw error;
  }
}

function refuseOtherVersions(root: string): void {
  const others = existsSync(root) ? readdirSync(root).filter(isOtherVersion) : [];
  if (others.length === 0) return;
  throw new AssayError(
    'ASSAY_STORE_VERSION',
    `${root} holds a store of format ${others.join(', ')}; this Assay reads and writes ${LAYOUT_VERSION}`,
  );
}

function isOtherVersion(name: string): boolean {
  return /^v\d+$/.test(name) && name !== LAYOUT_VERSION;
}

/** Two digits of the hash: no folder gets too many files. */
function shardOf(hash: Hash): string {
  return hash.slice(0, 2);
}

/** The generation is part of the name: a file is never replaced, so a removal can't delete a newer one. */
export function fileName(hash: Hash, generation: number): string {
  return `${hash}-${generation.toString(16).padStart(12, '0')}`;
}

export function filePath({ files }: Layout, hash: Hash, generation: number): string {
  return join(files, shardOf(hash), fileName(hash, generation));
}

export function parseFileName(name: string): { hash: Hash; generation: number } | undefined {
  const [, hash = '', generation = ''] = /^([^-]*)-([0-9a-f]{12})$/.exec(name) ?? [];
  return isHash(hash) ? { hash, generation: Number.parseInt(generation, 16) } : undefined;
}

/** Of an upload in parts. */
export function uploadPath({ staging }: Layout, generation: number): string {
  return join(staging, `upload-${generation.toString(16).padStart(12, '0')}`);
}
