// The truth: the same commands without a cache, in a clean copy of the workspace.
// They get the environment that Assay gives (client/action/environment.ts), so any difference is the cache's.
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Clone, SEARCH_PATH } from './clone.ts';
import { runGated } from './gates.ts';
import { logOf, type StepResult } from './outcome.ts';
import type { Step } from './plan.ts';
import type { Tree } from './tree.ts';

export interface Truth {
  readonly results: ReadonlyMap<string, Pick<StepResult, 'exitCode' | 'stdout' | 'stderr'>>;
  /** All files after the commands, but the outputs of other steps. */
  readonly tree: Tree;
}

export interface TruthOptions {
  /** In order; a step after a failed dependency does not run. */
  readonly steps: readonly Step[];
  /** Steps whose outputs the copy must not have. Each step starts without its own. */
  readonly without: readonly Step[];
  readonly others: readonly Step[];
  readonly folder: string;
  readonly nonce: string;
}

export async function truthOf(clone: Clone, options: TruthOptions): Promise<Truth> {
  const { steps, without, others, folder, nonce } = options;
  const home = join(folder, 'copy');
  clone.copyTo(home, { steps: without });
  const workspace = clone.workspaceIn(home);
  const results = new Map<string, Pick<StepResult, 'exitCode' | 'stdout' | 'stderr'>>();
  for (const { name, argv, dependsOn, outputs } of steps) {
    if (dependsOn.some((one) => results.get(one)?.exitCode !== 0)) continue;
    for (const path of outputs) rmSync(join(workspace, path), { recursive: true, force: true });
    const scratch = join(folder, `scratch-${name}`);
    for (const one of ['home', 'tmp']) mkdirSync(join(scratch, one), { recursive: true });
    const env = environment(scratch, nonce);
    const [program = '', ...words] = argv;
    const ended = await runGated([fileOf(program), ...words], {
      cwd: workspace,
      env,
      mark: `ORACLE_CASE=${nonce}`,
    });
    results.set(name, {
      exitCode: ended.code ?? -1,
      stdout: logOf(ended.stdout, workspace),
      stderr: logOf(ended.stderr, workspace),
    });
  }
  const tree = clone.tree(others, home);
  rmSync(folder, { recursive: true, force: true });
  return { results, tree };
}

/** Assay starts a program by its whole path, which shells print in their messages. */
function fileOf(program: string): string {
  if (program.includes('/')) return program;
  const files = SEARCH_PATH.split(':').map((folder) => join(folder, program));
  return files.find((file) => existsSync(file)) ?? program;
}

function environment(scratch: string, nonce: string): Record<string, string> {
  const tmp = join(scratch, 'tmp');
  return {
    PATH: SEARCH_PATH,
    SHELL: '/bin/sh',
    TZ: 'UTC',
    LC_ALL: 'C.UTF-8',
    HOME: join(scratch, 'home'),
    TMPDIR: tmp,
    MYPY_CACHE_DIR: join(tmp, 'mypy'),
    RUFF_CACHE_DIR: join(tmp, 'ruff'),
    PYTHONDONTWRITEBYTECODE: '1',
    ORACLE_CASE: nonce,
  };
}
