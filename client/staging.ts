// A folder of one process's own, from which a rename can move things into place: `.assay/<owner>-<count>`. Runs of one
// process that stage at the same time share it; the last one removes it.
//
// It lies beside the workspace, because a command that looks through the workspace must not find there what an earlier run
// made (docs/decisions/0198). Where the folder around the workspace is on another file system or others may write in it, it
// lies in the workspace, in sight.
//
// It holds what is being restored and what was moved aside, and names the commands that are running. A process that is
// killed leaves it behind, and may leave its commands running; the next one that stages anything ends those commands, which
// would write into outputs that are no longer their own, and removes the folder.
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
import { isSystemError } from '../core/errors.ts';
import { RUN } from '../core/limits.ts';
import { parseRelPath, type RelPath } from '../core/path.ts';
import {
  identify,
  identityText,
  isAncestor,
  livenessOf,
  ownIdentity,
  type ProcessIdentity,
  parseIdentity,
} from '../hermeticity/process-identity.ts';

const COMMAND_FILE = /^command-/;
/** As freshFolder names it: nothing else is ever removed, whatever somebody keeps in a folder of that name. */
const FOLDER_OF_A_PROCESS = /^\d+-\d+-\d+-\d+$/;
const ATTEMPTS = 1000;
const GROUP_MAY_WRITE = 0o020;
const OTHERS_MAY_WRITE = 0o002;

/** Inside the workspace: where locks are, and where all is that can't be beside it. */
export function homeIn(workspace: string): string {
  return join(workspace, '.assay');
}

/** Of this process, by the homes in the workspaces that they are for. */
const shared = new Map<string, SharedFolder>();

interface SharedFolder {
  readonly home: string;
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
    const home = homeIn(workspace);
    const known = shared.get(home);
    // A command may have removed all of it.
    const isUsable = known && statSync(known.folder, { throwIfNoEntry: false })?.isDirectory();
    const used = isUsable ? known : freshShared(workspace);
    used.users++;
    return new Staging(home, used);
  }

  /** What lies here is seen by who looks through the workspace. */
  get isInSight(): boolean {
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
    const command = identify(pid);
    if (!command) return;
    const file = join(this.#shared.folder, `command-${this.#shared.count++}`);
    this.#own.push(file);
    writeFileSync(file, `${identityText(command)}\n${JSON.stringify(outputs)}`);
  }

  /** Takes everything away that was not moved into place. What can't be taken away stays: it harms nobody. */
  remove(): void {
    if (--this.#shared.users > 0) {
      for (const path of this.#own) removeQuietly(path);
      return;
    }
    if (shared.get(this.#home) === this.#shared) shared.delete(this.#home);
    removeQuietly(this.#shared.folder);
    for (const home of [this.#shared.home, this.#home]) removeIfEmpty(home);
  }
}

/** The folder that this process stages in, if it does: it stays as long as somebody here uses it. */
export function ownFolder(home: string): string | undefined {
  return shared.get(home)?.folder;
}

/** What the command makes that `runner` has started and this process is a part of: nothing, if there is no such command. */
export function outputsAround(workspace: string, runner: ProcessIdentity): readonly RelPath[] {
  for (const home of [homeIn(workspace), homeIn(dirname(workspace))]) {
    for (const name of namesIn(home).filter((one) => one.startsWith(`${identityText(runner)}-`))) {
      const folder = join(home, name);
      for (const file of namesIn(folder).filter((one) => COMMAND_FILE.test(one))) {
        const { command, outputs } = readCommand(join(folder, file));
        if (command && isAncestor(command)) return outputs;
      }
    }
  }
  return [];
}

/** None if there is no such folder, or it is somewhere else. */
function namesIn(folder: string): string[] {
  try {
    return lstatSync(folder).isDirectory() ? readdirSync(folder) : [];
  } catch {
    return [];
  }
}

function freshShared(workspace: string): SharedFolder {
  const inside = homeIn(workspace);
  const made = freshFolder(inside);
  const folder = movedBeside(workspace, made) ?? made;
  const home = dirname(folder);
  const fresh = { home, folder, count: 0, users: 0 };
  shared.set(inside, fresh);
  for (const one of new Set([inside, home])) removeAbandoned(one);
  return fresh;
}

/** That it can be moved there shows that what is made there can be moved back: a bind mount looks like the same file system. */
function movedBeside(workspace: string, folder: string): string | undefined {
  const home = homeIn(dirname(workspace));
  let beside: string | undefined;
  try {
    if (!isAsGuarded(dirname(workspace), workspace)) return undefined;
    beside = freshFolder(home);
    if (!isAsGuarded(home, workspace)) throw new Error('others may write there');
    renameSync(folder, beside);
    return beside;
  } catch {
    if (beside !== undefined) removeQuietly(beside);
    removeIfEmpty(home);
    return undefined;
  }
}

/** Whoever may write there may write in the workspace too. */
function isAsGuarded(folder: string, workspace: string): boolean {
  const around = lstatSync(folder);
  const own = lstatSync(workspace);
  const isTrusted = around.uid === own.uid || around.uid === process.getuid?.();
  const isSameGroup = around.gid === own.gid || (around.mode & GROUP_MAY_WRITE) === 0;
  const more = around.mode & ~own.mode & (GROUP_MAY_WRITE | OTHERS_MAY_WRITE);
  return around.isDirectory() && around.dev === own.dev && isTrusted && isSameGroup && more === 0;
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
function freshFolder(home: string): string {
  for (let attempt = 0; ; attempt++) {
    const folder = join(home, `${identityText(ownIdentity())}-${attempt}`);
    try {
      mkdirSync(home, { recursive: true });
      if (!lstatSync(home).isDirectory()) throw new Error(`${home} is a link to somewhere else`);
      mkdirSync(folder);
      return folder;
    } catch (error) {
      if (attempt >= ATTEMPTS || !isSystemError(error, 'EEXIST', 'ENOENT')) throw error;
    }
  }
}

function removeAbandoned(home: string): void {
  for (const name of namesIn(home)) {
    if (!isAbandoned(home, name)) continue;
    const folder = join(home, name);
    for (const file of namesIn(folder)) if (COMMAND_FILE.test(file)) endCommand(join(folder, file));
    removeQuietly(folder);
  }
}

function isAbandoned(home: string, name: string): boolean {
  const owner = FOLDER_OF_A_PROCESS.test(name) ? parseIdentity(name) : undefined;
  if (!owner) return false;
  const liveness = livenessOf(owner);
  if (liveness !== 'unknown') return liveness === 'ended';
  const stats = lstatSync(join(home, name), { throwIfNoEntry: false });
  return stats?.isDirectory() === true && Date.now() - stats.mtimeMs > RUN.foreignStagingMs;
}

function endCommand(file: string): void {
  const { command } = readCommand(file);
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

interface RecordedCommand {
  readonly command: ProcessIdentity | undefined;
  readonly outputs: readonly RelPath[];
}

function readCommand(file: string): RecordedCommand {
  try {
    const [command = '', outputs = '[]'] = readFileSync(file, 'utf8').split('\n');
    const named: unknown[] = [JSON.parse(outputs)].flat();
    return { command: parseIdentity(command), outputs: named.map(String).map(parseRelPath) };
  } catch {
    return { command: undefined, outputs: [] };
  }
}

function removeQuietly(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // Somebody else's, or read-only: the next run tries again.
  }
}
