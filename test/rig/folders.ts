// Temporary folders and what tests put into them.
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const IN_MEMORY = '/dev/shm';

/**
 * A folder in memory where there is such a disk, else an ordinary one. For tests whose outcome must not
 * depend on how long a busy disk takes to sync.
 */
export function makeQuickFolder(): string {
  return mkdtempSync(join(existsSync(IN_MEMORY) ? IN_MEMORY : tmpdir(), 'assay-test-'));
}

/** Writes several files at once: strings unchanged, any other value as JSON. */
export function writeFiles(root: string, files: Readonly<Record<string, unknown>>): void {
  for (const [path, content] of Object.entries(files)) {
    const file = join(root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content, undefined, 2));
  }
}
