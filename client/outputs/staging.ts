// The staging folder of one process, from which a rename moves files into place: `.assay/<owner>-<count>`.
// Runs of one process share it; the last one removes it.
//
// It lies beside the workspace, because a command must not find the outputs of an earlier run in its
// workspace (docs/decisions/0198). If the parent folder is on another file system, or others may write it, it
// lies in the workspace.
//
// A killed process leaves its staging folder, and may leave its commands running. The next process that
// stages ends those commands and removes the folder. It knows both only from run-records.ts.

import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { isSystemError } from '../../core/errors.ts';
import type { RelPath } from '../../core/path.ts';
import { makeFolder } from '../../system/files/make-folder.ts';
import { ASSAY_FOLDER, IGNORES_ALL } from '../../system/paths/assay-folder.ts';
import { identityText, ownIdentity } from '../../system/process/process-identity.ts';
import { hasUtf8Path } from '../files/current-folder.ts';
import { RUN } from '../limits.ts';
import {
  type CacheAside,
  cleanUpKilledRuns,
  type OwnRecord,
  recordCommand,
  recordRun,
} from './run-records.ts';

const GROUP_MAY_WRITE = 0o020;
const OTHERS_MAY_WRITE = 0o002;

/** Assay's folder in a workspace: for the locks, and for staging that cannot be beside the workspace. */
export function assayFolder(workspace: string): string {
  return join(workspace, ASSAY_FOLDER);
}

/** The staging folders of this process, by Assay's folder in the workspace. */
const shared = new Map<string, SharedFolder>();

interface SharedFolder {
  readonly workspace: string;
  readonly home: string;
  readonly folder: string;
  readonly record: OwnRecord | undefined;
  count: number;
  users: number;
  /** A cache of a tool could not be put back and still lies there. */
  isAbandoned: boolean;
}

export class Staging {
  readonly #home: string;
  readonly #shared: SharedFolder;
  readonly #own: string[] = [];
  readonly #records: OwnRecord[] = [];

  private constructor(home: string, folder: SharedFolder) {
    this.#home = home;
    this.#shared = folder;
  }

  static create(workspace: string): Staging {
    const home = assayFolder(workspace);
    const known = shared.get(home);
    // A command may have removed the folder.
    const isUsable = known && statSync(known.folder, { throwIfNoEntry: false })?.isDirectory();
    const used = isUsable ? known : freshShared(workspace);
    used.users++;
    return new Staging(home, used);
  }

  /** True if the staging folder is in the workspace, where a command may find it. */
  get isInWorkspace(): boolean {
    return this.#shared.home === this.#home;
  }

  /** A new path in the staging folder. */
  next(): string {
    const path = join(this.#shared.folder, String(this.#shared.count++));
    this.#own.push(path);
    return path;
  }

  /** A path of `next` was moved into place. */
  moved(path: string): void {
    const at = this.#own.indexOf(path);
    if (at !== -1) this.#own.splice(at, 1);
  }

  /** Records which process group writes which outputs. */
  recordCommand(pid: number, outputs: readonly RelPath[]): void {
    this.#keep(recordCommand(pid, this.#shared.workspace, outputs));
  }

  /** Records where caches of tools will lie, so that they come back also if this process is killed. */
  recordCaches(caches: readonly CacheAside[]): void {
    this.#keep(recordRun({ workspace: this.#shared.workspace, outputs: [], caches }));
  }

  #keep(record: OwnRecord | undefined): void {
    if (record) this.#records.push(record);
  }

  /** Leaves everything in the staging folder, with its records: the next run tries to put the caches back. */
  abandon(): void {
    this.#shared.isAbandoned = true;
    this.#records.length = 0;
    this.#own.length = 0;
    this.remove();
  }

  /** Deletes everything that was not moved into place. What cannot be deleted stays, which is harmless. */
  remove(): void {
    for (const record of this.#records) record.remove();
    if (--this.#shared.users > 0) {
      for (const path of this.#own) removeQuietly(path);
      return;
    }
    if (shared.get(this.#home) === this.#shared) shared.delete(this.#home);
    if (this.#shared.isAbandoned) return;
    removeQuietly(this.#shared.folder);
    this.#shared.record?.remove();
    for (const home of [this.#shared.home, this.#home]) removeIfEmpty(home);
  }
}

/** The current staging folder of this process, if there is one. */
export function sharedStagingFolder(home: string): string | undefined {
  return shared.get(home)?.folder;
}

function freshShared(workspace: string): SharedFolder {
  cleanUpKilledRuns(workspace);
  const inside = assayFolder(workspace);
  const made = freshFolder(inside, workspace);
  const moved = moveBesideWorkspace(workspace, made);
  if (moved) made.record?.remove();
  const used = moved ?? made;
  const fresh = { workspace, home: dirname(used.folder), ...used, count: 0, users: 0, isAbandoned: false };
  shared.set(inside, fresh);
  return fresh;
}

/**
 * Moves the folder itself as a test that renames work in both directions: a bind mount has the same device
 * number.
 */
function moveBesideWorkspace(workspace: string, { folder }: RecordedFolder): RecordedFolder | undefined {
  const home = assayFolder(dirname(workspace));
  let beside: RecordedFolder | undefined;
  try {
    if (!hasUtf8Path(workspace) || !isAsProtected(dirname(workspace), workspace)) return undefined;
    beside = freshFolder(home, workspace);
    if (!isAsProtected(home, workspace)) throw new Error('others may write there');
    renameSync(folder, beside.folder);
    return beside;
  } catch {
    if (beside) removeQuietly(beside.folder);
    beside?.record?.remove();
    removeIfEmpty(home);
    return undefined;
  }
}

/** Whether every user who may write the folder may write the workspace too. */
function isAsProtected(folder: string, workspace: string): boolean {
  const around = lstatSync(folder);
  const own = lstatSync(workspace);
  const isTrusted = around.uid === own.uid || around.uid === process.getuid?.();
  const isSameGroup = around.gid === own.gid || (around.mode & GROUP_MAY_WRITE) === 0;
  const more = around.mode & ~own.mode & (GROUP_MAY_WRITE | OTHERS_MAY_WRITE);
  return around.isDirectory() && around.dev === own.dev && isTrusted && isSameGroup && more === 0;
}

const IGNORE_FILE = '.gitignore';

/** Makes Assay's folder with an ignore file of its own, so that git shows none of it. */
export function makeAssayFolder(home: string): void {
  makeFolder(home);
  if (lstatSync(home).isDirectory()) ignoreAll(home);
}

function ignoreAll(home: string): void {
  try {
    writeFileSync(join(home, IGNORE_FILE), IGNORES_ALL, { flag: 'wx' });
  } catch {
    // It is there, or another run has just removed the folder.
  }
}

/** Removes Assay's folder after the last use. A folder that this process stages in is in use. */
export function removeIfEmpty(home: string): void {
  if (shared.has(home)) return;
  let isBare = false;
  try {
    const [name, ...others] = readdirSync(home);
    if (others.length > 0) return;
    if (name === IGNORE_FILE && readFileSync(join(home, name), 'utf8') === IGNORES_ALL) {
      rmSync(join(home, name));
      isBare = true;
    }
    rmdirSync(home);
  } catch {
    // Another run is using it.
    if (isBare) ignoreAll(home);
  }
}

interface RecordedFolder {
  readonly folder: string;
  readonly record: OwnRecord | undefined;
}

/** Retries: another run may just remove the empty parent, and the name may be taken. */
function freshFolder(home: string, workspace: string): RecordedFolder {
  for (let attempt = 0; ; attempt++) {
    makeAssayFolder(home);
    const folder = join(home, `${identityText(ownIdentity())}-${attempt}`);
    const record = recordRun({ workspace, outputs: [], folder });
    try {
      if (!lstatSync(home).isDirectory()) throw new Error(`${home} is a link to somewhere else`);
      mkdirSync(folder);
      return { folder, record };
    } catch (error) {
      record?.remove();
      if (attempt >= RUN.stagingNames || !isSystemError(error, 'EEXIST', 'ENOENT')) throw error;
    }
  }
}

function removeQuietly(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // Another user's, or read-only: the next run tries again.
  }
}
