// Temporary folders and stores for tests, removed afterwards.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from 'vitest';
import { type DiskStore, type DiskStoreOptions, openDiskStore } from '../../store/open.ts';

export function makeFolder(parent = tmpdir()): string {
  return mkdtempSync(join(parent, 'assay-store-'));
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}

/** Closes stores and removes folders after each test of the calling file. */
export function useFolders(): {
  folder(parent?: string): string;
  open(options: DiskStoreOptions): Promise<DiskStore>;
} {
  const folders: string[] = [];
  const stores: DiskStore[] = [];
  afterEach(async () => {
    await Promise.all(stores.splice(0).map((store) => store.close()));
    for (const folder of folders.splice(0)) removeFolder(folder);
  });
  return {
    folder(parent) {
      const folder = makeFolder(parent);
      folders.push(folder);
      return folder;
    },
    async open(options) {
      const store = await openDiskStore(options);
      stores.push(store);
      return store;
    },
  };
}

/** Every file below a part of the store, by its path. */
export function filesIn(directory: string, part: 'files' | 'staging' | 'quarantine'): string[] {
  return readdirSync(join(directory, 'v5', part), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
