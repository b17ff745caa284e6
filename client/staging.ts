// A folder of one process's own, inside the workspace so that a rename can move things into place: `.assay/<owner>-<count>`.
// Runs of one process that stage at the same time share it; the last one removes it.
//
// It holds what is being restored and what was moved aside, and names the commands that are running. A process that is
// killed leaves it behind, and may leave its commands running; the next one that stages anything ends those commands, which
// would write into outputs that are no longer their own, and removes the folder.
import { mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isSystemError } from '../core/errors.ts';
import { RUN } from '../core/limits.ts';
import { identify, identityText, livenessOf, ownIdentity, parseIdentity } from './process-identity.ts';

const COMMAND_FILE = /^command-/;
const ATTEMPTS = 1000;

export function stagingHome(workspace: string): string {
  return join(workspace, '.assay');
}

/** Of this process, by their homes. */
const shared = new Map<string, SharedFolder>();

interface SharedFolder {
  readonly folder: string;
  count: number;
  users: number;
}

export class Staging {
  readonly #home: string;
  readonly #shared: SharedFolder;
  readonly #own: string[] = [];

  private constructor(home: string, folder: SharedFolder) {
    this.#home = home;
    this.#shared = folder;
  }

  static create(workspace: string): Staging {
    const home = stagingHome(workspace);
    const known = shared.get(home);
    // A command may have removed all of it.
    const isUsable = known && statSync(known.folder, { throwIfNoEntry: false })?.isDirectory();
    const used = isUsable ? known : freshShared(home);
    used.users++;
    return new Staging(home, used);
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

  /** Says which process group works on this run's outputs. */
  recordCommand(pid: number): void {
    const command = identify(pid);
    if (!command) return;
    const file = join(this.#shared.folder, `command-${this.#shared.count++}`);
    this.#own.push(file);
    writeFileSync(file, identityText(command));
  }

  /** Takes everything away that was not moved into place. What can't be taken away stays: it harms nobody. */
  remove(): void {
    if (--this.#shared.users > 0) {
      for (const path of this.#own) removeQuietly(path);
      return;
    }
    if (shared.get(this.#home) === this.#shared) shared.delete(this.#home);
    removeQuietly(this.#shared.folder);
    removeIfEmpty(this.#home);
  }
}

/** The folder that this process stages in, if it does: it stays as long as somebody here uses it. */
export function ownFolder(home: string): string | undefined {
  return shared.get(home)?.folder;
}

function freshShared(home: string): SharedFolder {
  const made = { folder: freshFolder(home, identityText(ownIdentity())), count: 0, users: 0 };
  shared.set(home, made);
  removeAbandoned(home);
  return made;
}

/** A run that was killed may have left its command behind, which would go on writing where it is told to. */
export function endEarlierCommands(workspace: string): void {
  Staging.create(workspace).remove();
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

/** Another run may remove the home just now, because it was empty; and one process may stage several times at once. */
function freshFolder(home: string, owner: string): string {
  for (let attempt = 0; ; attempt++) {
    const folder = join(home, `${owner}-${attempt}`);
    try {
      mkdirSync(home, { recursive: true });
      mkdirSync(folder);
      return folder;
    } catch (error) {
      if (attempt >= ATTEMPTS || !isSystemError(error, 'EEXIST', 'ENOENT')) throw error;
    }
  }
}

function removeAbandoned(home: string): void {
  for (const name of readdirSync(home)) {
    if (!isAbandoned(home, name)) continue;
    const folder = join(home, name);
    for (const file of readdirSync(folder)) if (COMMAND_FILE.test(file)) endCommand(join(folder, file));
    removeQuietly(folder);
  }
}

function isAbandoned(home: string, name: string): boolean {
  const owner = parseIdentity(name);
  if (!owner) return false;
  const liveness = livenessOf(owner);
  if (liveness !== 'unknown') return liveness === 'ended';
  const stats = statSync(join(home, name), { throwIfNoEntry: false });
  return stats !== undefined && Date.now() - stats.mtimeMs > RUN.foreignStagingMs;
}

function endCommand(file: string): void {
  const command = readCommand(file);
  if (!command || livenessOf(command) !== 'running') return;
  try {
    process.kill(-command.pid, 'SIGKILL');
  } catch {
    return;
  }
  const giveUpAt = Date.now() + RUN.orphanEndsMs;
  while (livenessOf(command) === 'running' && Date.now() < giveUpAt) Atomics.wait(sleeper, 0, 0, 5);
}

const sleeper = new Int32Array(new SharedArrayBuffer(4));

function readCommand(file: string): ReturnType<typeof parseIdentity> {
  try {
    return parseIdentity(readFileSync(file, 'latin1'));
  } catch {
    return undefined;
  }
}

function removeQuietly(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // Somebody else's, or read-only: the next run tries again.
  }
}
