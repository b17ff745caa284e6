// A store on disk in a temporary folder that is removed when the test is over.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { OnStoreEvent } from '../../../store/events.ts';
import { openDiskStore } from '../../../store/open.ts';
import type { Store } from '../../../store/store.ts';

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'assay-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function openDiskFolder(onEvent: OnStoreEvent): Promise<Store> {
  return openDiskStore({ directory: temporaryFolder(), onEvent });
}
