// A folder of one run's own, inside the workspace so that a rename can move things into place: `.assay/<owner>-<count>`.
//
// It holds what is being restored and what was moved aside, and names the command that is running. A run that is killed
// leaves it behind, and may leave its command running; the next run that stages anything ends that command, which would
// write into outputs that are no longer its own, and removes the folder.
import { mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isSystemError } from '../core/errors.ts';
import { RUN } from '../core/limits.ts';
import { identify, identityText, livenessOf, ownIdentity, parseIdentity } from './process-identity.ts';

const COMMAND_FILE = 'command';
const ATTEMPTS = 1000;

export function stagingHome(workspace: string): string {
  return join(workspace, '.assay');
}

export class Staging {
  readonly #home: string;
  readonly #folder: string;
  #count = 0;

  private constructor(home: string, folder: string) {
    this.#home = home;
    this.#folder = folder;
  }

  static create(workspace: string): Staging {
    const home = stagingHome(workspace);
    const folder = freshFolder(home, identityText(ownIdentity()));
    removeAbandoned(home);
    return new Staging(home, folder);
  }

  /** A path in the staging folder at which nothing lies yet. */
  next(): string {
    return join(this.#folder, String(this.#count++));
  }

  /** Says which process group works on this run's outputs. */
  recordCommand(pid: number): void {
    const command = identify(pid);
    if (command) writeFileSync(join(this.#folder, COMMAND_FILE), identityText(command));
  }

  /** Takes everything away that was not moved into place. What can't be taken away stays: it harms nobody. */
  remove(): void {
    removeQuietly(this.#folder);
    removeIfEmpty(this.#home);
  }
}

/** The last one to leave turns off the light. */
export function removeIfEmpty(home: string): void {
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
    endCommand(join(home, name, COMMAND_FILE));
    removeQuietly(join(home, name));
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
