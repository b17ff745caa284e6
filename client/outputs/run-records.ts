// Records of what this user's Assay processes are doing: outputs, commands and staging folders, one small
// file each.
//
//   R1  Only the user can write a record: a record folder that others could write is ignored.
//   R2  A run writes its record before it checks for others. So of two runs at least one sees the other.
//   R3  The next run in the workspace ends the commands of a killed run and removes its staging folders.
//   R4  Nothing in a workspace decides what is killed or removed, because a workspace may come from anywhere
//       (docs/decisions/0241). A command is killed only if pid, start time and pid namespace match the record.
//   R5  A cache of a tool that a killed run had set aside is put back before its staging folder is removed.
//
//   recordRun ──> record ──remove──> gone              the run ended
//                   └──cleanUpKilledRuns──> gone       its owner has ended, or cannot be seen and it is old
//
// The folders depend on the user only and on no variable: a command that runs Assay has another HOME and
// TMPDIR.
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
} from '../../system/process/process-identity.ts';
import { RUN } from '../limits.ts';
import { putBack } from './put-back.ts';

interface RunRecord {
  /** The process that wrote the record. */
  readonly owner: ProcessIdentity;
  readonly workspace: string;
  /** The outputs that it works on. */
  readonly outputs: readonly RelPath[];
  /** The leader of the process group that writes them. */
  readonly command?: ProcessIdentity | undefined;
  /** The staging folder to remove when the owner is gone. */
  readonly folder?: string | undefined;
  /** Caches of tools that lie in a staging folder while a command runs. */
  readonly caches?: readonly CacheAside[] | undefined;
}

export interface CacheAside {
  readonly path: RelPath;
  /** Where it lies. */
  readonly aside: string;
}

/** A record of this process. */
export interface OwnRecord {
  remove(): void;
}

const PRIVATE_FOLDER = 0o700;
const PRIVATE_FILE = 0o600;
const OF_OTHERS = 0o077;
/** The lowest process group that may be killed: kill(-1) means every process, kill(0) the own group. */
const LOWEST_GROUP = 2;

let count = 0;

/** Undefined if no record can be written; later runs then do not know of this one. */
export function recordRun(what: Omit<RunRecord, 'owner'>): OwnRecord | undefined {
  const name = `${identityText(ownIdentity())}-${count++}-${workspaceTag(what.workspace)}`;
  const content = JSON.stringify({ ...what, command: what.command && identityText(what.command) });
  for (const folder of lastFolder === undefined ? FOLDERS : [lastFolder, ...FOLDERS]) {
    const file = join(folder, name);
    try {
      if (!isPrivate(folder)) makePrivate(folder);
      // A run that reads it half written has its own record already, which this process will see (R2).
      writeFileSync(file, content, { mode: PRIVATE_FILE, flag: 'wx' });
      lastFolder = folder;
      return { remove: () => removeQuietly(file) };
    } catch {
      // Try the next folder.
    }
  }
  return undefined;
}

/** The folder of this process's last record. */
let lastFolder: string | undefined;

export function recordCommand(
  pid: number,
  workspace: string,
  outputs: readonly RelPath[],
): OwnRecord | undefined {
  const command = identify(pid);
  return command && recordRun({ workspace, outputs, command });
}

/** The outputs of the command of `runner` that this process is a part of; empty if there is none. */
export function outputsOfEnclosing(workspace: string, runner: ProcessIdentity): readonly RelPath[] {
  const isRunners = (name: string) => isOf(runner, name);
  const around = recordsIn(workspace, isRunners).find(({ command }) => command && isAncestor(command));
  return around?.outputs ?? [];
}

/** The records of other running processes. */
export function liveRecordsIn(workspace: string): RunRecord[] {
  const own = ownIdentity();
  const others = recordsIn(workspace, (name) => !isOf(own, name));
  return others.filter(({ owner }) => livenessOf(owner) === 'running');
}

/** Ends the commands of killed runs of this workspace, puts back their caches and removes their staging folders (R3, R5). */
export function cleanUpKilledRuns(workspace: string): void {
  const here: { readonly file: string; readonly record: RunRecord }[] = [];
  for (const { file, owner } of files(() => true)) {
    if (!isAbandoned(file, owner)) continue;
    const record = read(file, owner);
    if (record?.workspace === workspace) here.push({ file, record });
    else if (!record || !existsSync(record.workspace)) removeQuietly(file);
  }
  for (const { record } of here) if (record.command) endCommand(record.command);
  const stuck = here
    .flatMap(({ record }) => record.caches ?? [])
    .filter((cache) => !isBack(workspace, cache));
  const holdsStuck = (folder: string) => stuck.some(({ aside }) => aside.startsWith(`${folder}/`));
  for (const { file, record } of here) {
    const { folder, caches } = record;
    if (folder !== undefined && holdsStuck(folder)) continue;
    if (caches?.some((cache) => stuck.includes(cache))) continue;
    if (folder !== undefined) removeQuietly(folder);
    removeQuietly(file);
  }
}

/** Puts a cache back; false if that failed, so that the next run tries again. */
function isBack(workspace: string, { path, aside }: CacheAside): boolean {
  try {
    putBack(workspace, path, aside);
    return true;
  } catch {
    return false;
  }
}

/** True if records can be read. If not, the command of a killed run may still be running. */
export function canSeeKilledRuns(): boolean {
  return FOLDERS.some(isPrivate);
}

const FOLDERS = foldersOf(process.getuid?.() ?? 0);

/**
 * Folders of this machine only, which a restart clears or invalidates. The first is the XDG runtime folder.
 */
function foldersOf(user: number): readonly string[] {
  const shared = ['/tmp', '/var/tmp', '/dev/shm'].map((folder) => join(folder, `assay-${user}`));
  return [join('/run/user', String(user), 'assay'), ...shared];
}

function makePrivate(folder: string): void {
  mkdirSync(folder, { mode: PRIVATE_FOLDER });
  chmodSync(folder, PRIVATE_FOLDER); // whatever the umask
}

/** Anybody may make a folder of that name in /tmp: one that is not private to this user is ignored (R1). */
function isPrivate(folder: string): boolean {
  try {
    const stats = lstatSync(folder);
    return stats.isDirectory() && stats.uid === process.getuid?.() && (stats.mode & OF_OTHERS) === 0;
  } catch {
    return false;
  }
}

/** Filters by name before reading: a graph has many records. */
function recordsIn(workspace: string, matchesName: (name: string) => boolean): RunRecord[] {
  const tag = `-${workspaceTag(workspace)}`;
  return files((name) => name.endsWith(tag) && matchesName(name))
    .flatMap(({ file, owner }) => read(file, owner) ?? [])
    .filter((record) => record.workspace === workspace);
}

function isOf(owner: ProcessIdentity, name: string): boolean {
  return name.startsWith(`${identityText(owner)}-`);
}

/** The part of a record's name that stands for the workspace. */
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

/** Undefined if the record has just been removed, or is torn. */
function read(file: string, owner: ProcessIdentity): RunRecord | undefined {
  try {
    const { workspace, outputs, command, folder, caches } = JSON.parse(readFileSync(file, 'utf8'));
    return {
      owner,
      workspace: String(workspace),
      outputs: [outputs].flat().map(String).map(parseRelPath),
      command: command === undefined ? undefined : parseIdentity(String(command)),
      folder: folder === undefined ? undefined : String(folder),
      caches: [caches ?? []]
        .flat()
        .map((one) => ({ path: parseRelPath(String(one.path)), aside: String(one.aside) })),
    };
  } catch {
    return undefined;
  }
}

/** An owner in another container cannot be seen: its record counts as abandoned when it is old. */
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
    // Another user's, or read-only: the next run tries again.
  }
}
