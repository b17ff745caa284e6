// Tells whether git tracks a path of the workspace, which makes it somebody's source.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { RelPath } from '../../core/path.ts';
import { RUN } from '../limits.ts';

/** Undefined if git cannot tell. */
export function isTracked(workspace: string, path: RelPath): boolean | undefined {
  if (!isInRepository(workspace)) return false;
  const { GIT_DIR: _, GIT_WORK_TREE: __, GIT_INDEX_FILE: ___, ...env } = process.env;
  const question = ['-c', 'core.fsmonitor=false', 'ls-files', '-z', '--', `:(literal)${path}`];
  const asked = spawnSync('git', question, {
    cwd: workspace,
    env,
    timeout: RUN.gitMs,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return asked.status === 0 ? asked.stdout.length > 0 : undefined;
}

export function isInRepository(folder: string): boolean {
  if (existsSync(join(folder, '.git'))) return true;
  return folder !== dirname(folder) && isInRepository(dirname(folder));
}
