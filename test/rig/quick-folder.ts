// A folder in memory, for tests whose outcome must not hang on how long a busy disk takes to sync; an ordinary one where there
// is no disk in memory.
import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const IN_MEMORY = '/dev/shm';

export function makeQuickFolder(): string {
  return mkdtempSync(join(existsSync(IN_MEMORY) ? IN_MEMORY : tmpdir(), 'assay-test-'));
}
