// What this user's Assay processes have under way: the outputs that a run works on, the command that makes them, the folder
// that it stages in. One small file each, in a folder that belongs to the user alone. A process that is killed leaves its
// files behind, and the next one ends the commands and removes the folders that they name.
//
// A workspace may come from anywhere, so nothing in it says what to kill or what to remove (docs/decisions/0241). The place
// depends on the user only, and on no variable: a command that runs Assay itself has another HOME and TMPDIR.
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { digestOf } from '../../core/digest.ts';
import { parseRelPath, type RelPath } from '../../core/path.ts';
import {
  identify,
  identityText,
  isAncestor,
  livenessOf,
  ownIdentity,
  type ProcessIdentity,
  parseIdentity,
} from '../../hermeticity/system/process-identity.ts';
import { RUN } from '../limits.ts';

export interface RunRecord {
  /** The process that wrote it. */
  readonly owner: ProcessIdentity;
  readonly workspace: string;
  /** What it works on. */
  readonly outputs: readonly RelPath[];
  /** The leader of the process group that makes them. */
  readonly command?: ProcessIdentity | undefined;
  /** What is to be removed when the owner is gone. */
  readonly folder?: string | undefined;
}

/** A record of this process. */
export interface OwnRecord {
  remove(): void;
}

const PRIVATE_FOLDER = 0o700;
const PRIVATE_FILE = 0o600;
const OF_OTHERS = 0o077;
/** No group of a command has a lower number: -1 is everybody, -0 this process's own group. */
const LOWEST_GROUP = 2;

let count = 0;

/** Undefined if it can't be written: a later run does not learn of it then. */
export function recordRun(what: Omit<RunRecord, 'owner'>): OwnRecord | undefined {
  const name = `${identityText(ownIdentity())}-${count++}-${workspaceTag(what.workspace)}`;
  const content = JSON.stringify({ ...what, command: what.command && identityText(what.command) });
  for (const folder of lastFolder === undefined ? FOLDERS : [lastFolder, ...FOLDERS]) {
    const file = join(folder, name);
    try {
      if (!isPrivate(folder)) makePrivate(folder);
      // Whoever reads it half written has a record of its own, which this process sees when it looks afterwards.
      writeFileSync(file, content, { mode: PRIVATE_FILE, flag: 'wx' });
      lastFolder = folder;
      return { remove: () => removeQuietly(file) };
    } catch {
      // The next place may do.
    }
  }
  return undefined;
}

/** Where this process could write its last record. */
let lastFolder: string | undefined;

export function recordCommand(
  pid: number,
  workspace: string,
  outputs: readonly RelPath[],
): OwnRecord | undefined {
  const command = identify(pid);
  return command && recordRun({ workspace, outputs, command });
}

/** What the command makes that `runner` has started and this process is a part of: nothing, if there is no such command. */
export function outputsOfEnclosing(workspace: string, runner: ProcessIdentity): readonly RelPath[] {
  const isRunners = (name: string) => isOf(runner, name);
  const around = recordsIn(workspace, isRunners).find(({ command }) => command && isAncestor(command));
  return around?.outputs ?? [];
}

/** Of processes that live, other than this one. */
export function liveRecordsIn(workspace: string): RunRecord[] {
  const own = ownIdentity();
  const others = recordsIn(workspace, (name) => !isOf(own, name));
  return others.filter(({ owner }) => livenessOf(owner) === 'running');
}

/** Ends the commands and removes the folders that killed runs of this workspace have left. */
export function cleanUpKilledRuns(workspace: string): void {
  for (const { file, owner } of files(() => true)) {
    if (!isAbandoned(file, owner)) continue;
    const record = read(file, owner);
    if (record?.workspace === workspace) clear(record);
    else if (record && existsSync(record.workspace)) continue;
    removeQuietly(file);
  }
}

function clear({ command, folder }: RunRecord): void {
  if (command) endCommand(command);
  if (folder !== undefined) removeQuietly(folder);
}

/** True if a run that was killed would be known by its records; else nobody can say whether its command still runs. */
export function canSeeKilledRuns(): boolean {
  return FOLDERS.some(isPrivate);
}

const FOLDERS = foldersOf(process.getuid?.() ?? 0);

/** All on this machine, and gone or worthless after a restart. The first is what the XDG specification has for this. */
function foldersOf(user: number): readonly string[] {
  const shared = ['/tmp', '/var/tmp', '/dev/shm'].map((folder) => join(folder, `assay-${user}`));
  return [join('/run/user', String(user), 'assay'), ...shared];
}

function makePrivate(folder: string): void {
  mkdirSync(folder, { mode: PRIVATE_FOLDER });
  chmodSync(folder, PRIVATE_FOLDER); // whatever the umask
}

/** Anybody may make a folder of that name in /tmp: what is not this user's alone is not believed. */
function isPrivate(folder: string): boolean {
  try {
    const stats = lstatSync(folder);
    return stats.isDirectory() && stats.uid === process.getuid?.() && (stats.mode & OF_OTHERS) === 0;
  } catch {
    return false;
  }
}

/** A graph has many records at a time: only those whose names are meant are taken apart and read. */
function recordsIn(workspace: string, matchesName: (name: string) => boolean): RunRecord[] {
  const tag = `-${workspaceTag(workspace)}`;
  return files((name) => name.endsWith(tag) && matchesName(name))
    .flatMap(({ file, owner }) => read(file, owner) ?? [])
    .filter((record) => record.workspace === workspace);
}

function isOf(owner: ProcessIdentity, name: string): boolean {
  return name.startsWith(`${identityText(owner)}-`);
}

/** In the names of a workspace's records. */
function workspaceTag(workspace: string): string {
  return digestOf(Buffer.from(workspace)).hash.slice(0, TAG_LENGTH);
}

const TAG_LENGTH = 16;
const NAME = /^(\d+-\d+-\d+)-\d+-[0-9a-f]+$/;

function files(matchesName: (name: string) => boolean): { file: string; owner: ProcessIdentity }[] {
  return FOLDERS.filter(isPrivate).flatMap((folder) =>
    namesIn(folder)
      .filter(matchesName)
      .flatMap((name) => {
        const owner = parseIdentity(NAME.exec(name)?.[1] ?? '');
        return owner ? [{ file: join(folder, name), owner }] : [];
      }),
  );
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Undefined if it has just been removed. */
function read(file: string, owner: ProcessIdentity): RunRecord | undefined {
  try {
    const { workspace, outputs, command, folder } = JSON.parse(readFileSync(file, 'utf8'));
    return {
      owner,
      workspace: String(workspace),
      outputs: [outputs].flat().map(String).map(parseRelPath),
      command: command === undefined ? undefined : parseIdentity(String(command)),
      folder: folder === undefined ? undefined : String(folder),
    };
  } catch {
    return undefined;
  }
}

/** An owner in another container can't be seen: its records are old then. */
function isAbandoned(file: string, owner: ProcessIdentity): boolean {
  const liveness = livenessOf(owner);
  if (liveness !== 'unknown') return liveness === 'ended';
  const stats = lstatSync(file, { throwIfNoEntry: false });
  return stats !== undefined && Date.now() - stats.mtimeMs > RUN.foreignStagingMs;
}

function endCommand(command: ProcessIdentity): void {
  if (command.pid < LOWEST_GROUP || livenessOf(command) !== 'running') return;
  try {
    process.kill(-command.pid, 'SIGKILL');
  } catch {
    return;
  }
  const giveUpAt = Date.now() + RUN.orphanEndsMs;
  while (livenessOf(command) === 'running' && Date.now() < giveUpAt) Atomics.wait(sleeper, 0, 0, 5);
}

const sleeper = new Int32Array(new SharedArrayBuffer(4));

function removeQuietly(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // Somebody else's, or read-only: the next run tries again.
  }
}
