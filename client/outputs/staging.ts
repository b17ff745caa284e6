// A folder of one process's own, from which a rename can move things into place: `.assay/<owner>-<count>`. Runs of one
// process that stage at the same time share it; the last one removes it.
//
// It lies beside the workspace, because a command that looks through the workspace must not find there what an earlier run
// made (docs/decisions/0198). Where the folder around the workspace is on another file system or others may write in it, it
// lies in the workspace, in sight.
//
// It holds what is being restored and what was moved aside. A process that is killed leaves it behind, and may leave its commands
// running. The next one that stages anything ends those commands, which would write into outputs that are no longer their own,
// and removes the folder; it knows of both by run-records.ts, and by nothing that lies in a workspace.
import { lstatSync, mkdirSync, renameSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isSystemError } from '../../core/errors.ts';
import type { RelPath } from '../../core/path.ts';
import { identityText, ownIdentity } from '../../hermeticity/system/process-identity.ts';
import { hasUtf8Path } from '../files/current-folder.ts';
import { cleanUpKilledRuns, type OwnRecord, recordCommand, recordRun } from './run-records.ts';

const ATTEMPTS = 1000;
const GROUP_MAY_WRITE = 0o020;
const OTHERS_MAY_WRITE = 0o002;

/** Inside the workspace: where locks are, and where all is that can't be beside it. */
export function assayFolder(workspace: string): string {
  return join(workspace, '.assay');
}

/** Of this process, by the homes in the workspaces that they are for. */
const shared = new Map<string, SharedFolder>();

interface SharedFolder {
  readonly workspace: string;
  readonly home: string;
  readonly folder: string;
  readonly record: OwnRecord | undefined;
  count: number;
  users: number;
}

export class Staging {
  readonly #home: string;
  readonly #shared: SharedFolder;
  readonly #own: string[] = [];
  readonly #commands: OwnRecord[] = [];

  private constructor(home: string, folder: SharedFolder) {
    this.#home = home;
    this.#shared = folder;
  }

  static create(workspace: string): Staging {
    const home = assayFolder(workspace);
    const known = shared.get(home);
    // A command may have removed all of it.
    const isUsable = known && statSync(known.folder, { throwIfNoEntry: false })?.isDirectory();
    const used = isUsable ? known : freshShared(workspace);
    used.users++;
    return new Staging(home, used);
  }

  /** What lies here is seen by who looks through the workspace. */
  get isInWorkspace(): boolean {
    return this.#shared.home === this.#home;
  }

  /** A path in the staging folder at which nothing lies yet. */
  next(): string {
    const path = join(this.#shared.folder, String(this.#shared.count++));
    this.#own.push(path);
    return path;
  }

  /** What lay at a path of `next` has been moved into place. */
  moved(path: string): void {
    const at = this.#own.indexOf(path);
    if (at !== -1) this.#own.splice(at, 1);
  }

  /** Says which process group works on which outputs. */
  recordCommand(pid: number, outputs: readonly RelPath[]): void {
    const record = recordCommand(pid, this.#shared.workspace, outputs);
    if (record) this.#commands.push(record);
  }

  /** Takes everything away that was not moved into place. What can't be taken away stays: it harms nobody. */
  remove(): void {
    for (const record of this.#commands) record.remove();
    if (--this.#shared.users > 0) {
      for (const path of this.#own) removeQuietly(path);
      return;
    }
    if (shared.get(this.#home) === this.#shared) shared.delete(this.#home);
    removeQuietly(this.#shared.folder);
    this.#shared.record?.remove();
    for (const home of [this.#shared.home, this.#home]) removeIfEmpty(home);
  }
}

/** The folder that this process stages in, if it does: it stays as long as somebody here uses it. */
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
  const fresh = { workspace, home: dirname(used.folder), ...used, count: 0, users: 0 };
  shared.set(inside, fresh);
  return fresh;
}

/** That it can be moved there shows that what is made there can be moved back: a bind mount looks like the same file system. */
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

/** Whoever may write there may write in the workspace too. */
function isAsProtected(folder: string, workspace: string): boolean {
  const around = lstatSync(folder);
  const own = lstatSync(workspace);
  const isTrusted = around.uid === own.uid || around.uid === process.getuid?.();
  const isSameGroup = around.gid === own.gid || (around.mode & GROUP_MAY_WRITE) === 0;
  const more = around.mode & ~own.mode & (GROUP_MAY_WRITE | OTHERS_MAY_WRITE);
  return around.isDirectory() && around.dev === own.dev && isTrusted && isSameGroup && more === 0;
}

/** The last one to leave turns off the light. While this process stages something there, it is not empty. */
export function removeIfEmpty(home: string): void {
  if (shared.has(home)) return;
  try {
    rmdirSync(home);
  } catch {
    // Another run is using it.
  }
}

interface RecordedFolder {
  readonly folder: string;
  readonly record: OwnRecord | undefined;
}

/** Another run may remove the home just now, because it was empty; and one process may stage several times at once. */
function freshFolder(home: string, workspace: string): RecordedFolder {
  for (let attempt = 0; ; attempt++) {
    const folder = join(home, `${identityText(ownIdentity())}-${attempt}`);
    const record = recordRun({ workspace, outputs: [], folder });
    try {
      mkdirSync(home, { recursive: true });
      if (!lstatSync(home).isDirectory()) throw new Error(`${home} is a link to somewhere else`);
      mkdirSync(folder);
      return { folder, record };
    } catch (error) {
      record?.remove();
      if (attempt >= ATTEMPTS || !isSystemError(error, 'EEXIST', 'ENOENT')) throw error;
    }
  }
}

function removeQuietly(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // Somebody else's, or read-only: the next run tries again.
  }
}
