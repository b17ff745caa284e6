// A folder of one run's own, inside the workspace so that a rename can move things into place: `.assay/<pid>-<random>`.
//
// It holds what is being restored and what was moved aside. A run that dies leaves it behind; the next one that stages
// anything removes what belongs to processes that are no more.
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isSystemError } from '../core/errors.ts';

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
    const folder = join(home, `${process.pid}-${randomBytes(6).toString('hex')}`);
    mkdirSync(folder);
    return new Staging(home, folder);
  }

  /** A path in the staging folder at which nothing lies yet. */
  next(): string {
    return join(this.#folder, String(this.#count++));
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

function removeAbandoned(home: string): void {
  for (const name of readdirSync(home)) {
    const pid = Number(/^(\d+)-[0-9a-f]{12}$/.exec(name)?.[1]);
    if (pid > 0 && !isAlive(pid)) rmSync(join(home, name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return isSystemError(error, 'EPERM');
  }
}
