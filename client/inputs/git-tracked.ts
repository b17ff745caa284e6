// Tells whether git tracks a path of the workspace, which makes it somebody's source.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { RelPath } from '../../core/path.ts';
import {
  type AbsPath,
  absPath,
  absPathFromBytes,
  isBelow,
  toBytes,
} from '../../system/paths/absolute-path.ts';
import { RUN } from '../limits.ts';

/** Undefined if git cannot tell. */
export function isTracked(workspace: string, path: RelPath): boolean | undefined {
  if (!isInRepository(workspace)) return false;
  const listed = listFiles(workspace, ['--', `:(literal)${path}`]);
  return listed && listed.length > 0;
}

export function isInRepository(folder: string): boolean {
  return repositoryAround(folder) !== undefined;
}

function repositoryAround(folder: string): string | undefined {
  if (existsSync(join(folder, '.git'))) return folder;
  return folder === dirname(folder) ? undefined : repositoryAround(dirname(folder));
}

/** All tracked files of the repository around the workspace, asked for at once when one is needed. */
export class TrackedFiles {
  /** Undefined if the workspace lies in none. */
  readonly repository: AbsPath | undefined;
  #known: ReadonlySet<AbsPath> | undefined;

  constructor(workspace: string) {
    const repository = repositoryAround(workspace);
    this.repository = repository === undefined ? undefined : absPath(repository);
  }

  /** Whether git tracks the file, or a file below the folder. False if git cannot tell. */
  has(path: AbsPath): boolean {
    const { repository } = this;
    return repository !== undefined && isBelow(path, repository) && this.#all().has(path);
  }

  /** No repository, nothing tracked in it, or git cannot tell. */
  get isEmpty(): boolean {
    return this.#all().size === 0;
  }

  #all(): ReadonlySet<AbsPath> {
    this.#known ??= this.repository === undefined ? new Set() : trackedIn(this.repository);
    return this.#known;
  }

  /** The file has the content that git tracks. False if git cannot tell, or converts the content. */
  hasUnchanged(path: AbsPath): boolean {
    if (this.repository === undefined || !this.has(path)) return false;
    const listed = listFiles(dirname(path), [
      '--stage',
      '--',
      `:(literal)${path.slice(path.lastIndexOf('/') + 1)}`,
    ]);
    const [, hash = ''] = listed?.toString('latin1').split(' ') ?? [];
    return hash !== '' && hash === blobHash(path, hash.length === 40 ? 'sha1' : 'sha256');
  }
}

function blobHash(path: AbsPath, algorithm: 'sha1' | 'sha256'): string | undefined {
  try {
    const content = readFileSync(toBytes(path));
    return createHash(algorithm).update(`blob ${content.length}\0`).update(content).digest('hex');
  } catch {
    return undefined;
  }
}

function trackedIn(repository: AbsPath): Set<AbsPath> {
  const listed = listFiles(repository, ['--recurse-submodules']) ?? Buffer.alloc(0);
  const tracked = new Set<AbsPath>();
  const prefix = Buffer.from(`${repository}/`);
  for (let start = 0; start < listed.length; ) {
    const end = listed.indexOf(0, start);
    const path = absPathFromBytes(Buffer.concat([prefix, listed.subarray(start, end)]));
    tracked.add(path);
    for (
      let folder = dirname(path);
      folder !== repository && !tracked.has(absPath(folder));
      folder = dirname(folder)
    )
      tracked.add(absPath(folder));
    start = end + 1;
  }
  return tracked;
}

/** The output of git ls-files -z; undefined if it failed. */
function listFiles(folder: string, args: readonly string[]): Buffer | undefined {
  const { GIT_DIR: _, GIT_WORK_TREE: __, GIT_INDEX_FILE: ___, ...env } = process.env;
  const asked = spawnSync('git', ['-c', 'core.fsmonitor=false', 'ls-files', '-z', ...args], {
    cwd: folder,
    env,
    timeout: RUN.gitMs,
    maxBuffer: RUN.maxGitBytes,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return asked.status === 0 ? asked.stdout : undefined;
}
