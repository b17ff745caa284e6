// A workspace's position in its git repository: its folder, and the commits up to HEAD, newest first. Empty
// if there is no repository, no commit or no git.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { STATE } from '../limits.ts';

export interface Ancestry {
  readonly folder: string;
  /** HEAD first. */
  readonly commits: readonly string[];
}

export async function ancestryOf(workspace: string): Promise<Ancestry> {
  const [folder, commits] = await Promise.all([
    git(workspace, 'rev-parse', '--show-prefix'),
    git(workspace, 'rev-list', `--max-count=${STATE.ancestors}`, 'HEAD', '--'),
  ]);
  return { folder: folder.trimEnd(), commits: commits.split('\n').filter((line) => COMMIT.test(line)) };
}

const COMMIT = /^[0-9a-f]{40,64}$/;

async function git(workspace: string, ...args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await run('git', args, { cwd: workspace, timeout: STATE.gitMs });
    return stdout;
  } catch {
    return '';
  }
}

const run = promisify(execFile);
