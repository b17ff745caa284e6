// A folder of one run's own, inside the workspace so that a rename can move things into place: `.assay/<owner>`.
//
// It holds what is being restored and what was moved aside, and names the command that is running. A run that is killed
// leaves it behind, and may leave its command running; the next run that stages anything ends that command, which would
// write into outputs that are no longer its own, and removes the folder.
import { mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isSystemError } from '../core/errors.ts';
import { RUN } from '../core/limits.ts';
import { identify, isRunning, type ProcessIdentity } from './process-identity.ts';

const COMMAND_FILE = 'command';

export class Staging {
  readonly #home: string;
  readonly #folder: string;
  #count = 0;

  private constructor(home: string, folder: string) {
    this.#home = home;
    this.#folder = folder;
  }

  static create(workspace: string): Staging {
    const home = join(workspace, '.assay');
    mkdirSync(home, { recursive: true });
    removeAbandoned(home);
    const own = identify(process.pid);
    const folder = freshFolder(join(home, `${process.pid}-${own?.started ?? 0}`));
    return new Staging(home, folder);
  }

  /** A path in the staging folder at which nothing lies yet. */
  next(): string {
    return join(this.#folder, String(this.#count++));
  }

  /** Says which process group works on this run's outputs. */
  recordCommand(pid: number): void {
    const command = identify(pid);
    if (command) writeFileSync(join(this.#folder, COMMAND_FILE), `${command.pid} ${command.started}`);
  }

  /** Takes everything away that was not moved into place. */
  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
    try {
      rmdirSync(this.#home);
    } catch {
      // Another run is using it.
    }
  }
}

/** One process may stage several times at once, as a library. */
function freshFolder(name: string): string {
  for (let count = 0; ; count++) {
    try {
      mkdirSync(`${name}-${count}`);
      return `${name}-${count}`;
    } catch (error) {
      if (!isSystemError(error, 'EEXIST')) throw error;
    }
  }
}

function removeAbandoned(home: string): void {
  for (const name of readdirSync(home)) {
    const [, pid, started] = /^(\d+)-(\d+)-\d+$/.exec(name) ?? [];
    if (pid === undefined || started === undefined || isRunning({ pid: Number(pid), started })) continue;
    endCommand(join(home, name, COMMAND_FILE));
    rmSync(join(home, name), { recursive: true, force: true });
  }
}

function endCommand(file: string): void {
  const command = readCommand(file);
  if (!command || !isRunning(command)) return;
  process.kill(-command.pid, 'SIGKILL');
  const giveUpAt = Date.now() + RUN.orphanEndsMs;
  while (isRunning(command) && Date.now() < giveUpAt) Atomics.wait(sleeper, 0, 0, 5);
}

const sleeper = new Int32Array(new SharedArrayBuffer(4));

function readCommand(file: string): ProcessIdentity | undefined {
  try {
    const [pid, started] = readFileSync(file, 'latin1').split(' ');
    return started === undefined ? undefined : { pid: Number(pid), started };
  } catch {
    return undefined;
  }
}
