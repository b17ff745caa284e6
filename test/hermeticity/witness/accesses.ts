// Translates complete strace calls into accesses of files and sockets.
import { constants, type Stats, statSync } from 'node:fs';
import { getegid, geteuid } from 'node:process';
import { nameFromBytes } from '../../../core/path.ts';
import type { PathAccess, SocketAccess, SocketAddress, Without } from '../../../hermeticity/trace/access.ts';
import { namesNow } from '../../../hermeticity/trace/folder-names.ts';
import type { AccessDetails, ReportBuilder } from '../../../hermeticity/trace/report-builder.ts';
import { addressText, isLoopbackSocket, isWildcard } from '../../../hermeticity/trace/socket-address.ts';
import {
  type AbsPath,
  absPath,
  absPathFromBytes,
  linkTargetFromBytes,
} from '../../../system/paths/absolute-path.ts';
import { TRACED_CALLS, type TracedCall } from './calls.ts';
import { Deduplicator } from './deduplicate.ts';
import { interpreterOf } from './interpreter.ts';
import { bytesOf, type Call, errorOf, pathBehind, stringsIn } from './line.ts';
import { gotUserAttribute, questionIn } from './questions.ts';
import { absolute, type BytePath, LinkResolver, toBuffer } from './resolve-links.ts';
import { addressesIn } from './sockets.ts';

/** A moment after the listing: strace does not tell what a call returned. */
function shownBy(folder: AbsPath): Pick<PathAccess, 'names'> {
  try {
    return { names: namesNow(folder) };
  } catch {
    return {};
  }
}

/** Errors that are about the call, not about the path. */
const ABOUT_THE_CALL = new Set([
  'EFAULT',
  'EINVAL',
  'EBADF',
  'ENOSYS',
  'EMFILE',
  'ENFILE',
  'EINTR',
  'ENOMEM',
  'ENAMETOOLONG',
  'EOPNOTSUPP',
]);
const MAX_INTERPRETERS = 5;
const S_ISUID = 0o4000;
const S_ISGID = 0o2000;
const LOADER_CACHE = absPath('/etc/ld.so.cache');

export interface StraceProcess {
  readonly pid: number;
  cwd: BytePath;
}

interface ResolvedPath {
  readonly path: BytePath;
  /** The requested path, if links led from it to `path`. */
  readonly asked?: BytePath;
}

/** The kernel's limit, with the trailing NUL. */
const PATH_MAX = 4096;
const BEYOND_PATH_MAX = 'a path is longer than PATH_MAX, so Assay cannot check what is there';

export class StraceAccesses {
  readonly #builder: ReportBuilder<number>;
  readonly #bornBefore: bigint;
  readonly #links = new LinkResolver();
  readonly #seen = new Deduplicator();
  readonly #addresses = new Set<string>();
  /** Sockets whose port the kernel chooses: a later getsockname reports it. */
  readonly #portsToCome = new Set<string>();
  #atMs = 0;

  /** `bornBefore`, in nanoseconds: a file with an earlier birth time existed before the command. */
  constructor(builder: ReportBuilder<number>, bornBefore: bigint) {
    this.#builder = builder;
    this.#bornBefore = bornBefore;
  }

  take(process: StraceProcess, call: Call, atMs: number): void {
    const traced = TRACED_CALLS.get(call.name);
    this.#atMs = atMs;
    if (!traced) return;
    if (traced.path !== undefined) this.#onPath(process, traced, call, traced.path);
    else if (traced.meaning === 'connect' || traced.meaning === 'bound')
      this.#onSocket(process, traced, call);
    else if (traced.meaning === 'io_uring') this.#ring(process, call);
    else if (traced.meaning === 'asked') this.#asked(process, call);
    else if (errorOf(call.result) === undefined) this.#onHandleOrView(process, traced, call);
    else if (traced.meaning === 'ptrace') this.#ptrace(call);
  }

  viewChanged(): void {
    this.#builder.gap('a process changed its own view of the file system (mounts, namespaces, chroot)');
  }

  // ---- calls that name a path ----

  #onPath(process: StraceProcess, traced: TracedCall, call: Call, position: number): void {
    const flags = traced.flags === undefined ? '' : (call.arguments[traced.flags] ?? '');
    const stays = traced.nofollow === true || /AT_SYMLINK_NOFOLLOW|O_NOFOLLOW|O_EXCL/.test(flags);
    const place = this.#locate(process, call, traced.folder, position, !stays);
    const error = errorOf(call.result);
    if (!place) return;
    if (error === 'ENOTEMPTY') this.#notEmpty(process, traced, call, place);
    if (traced.meaning === 'readlink' && error === 'EINVAL') this.#reportProbe(process, place);
    else if (error !== undefined)
      this.#failed(process, place, error, traced.meaning === 'open' && wantsContent(flags));
    else this.#succeeded(process, traced, call, place, flags);
  }

  /**
   * Resolves the path argument, or the file handle if the call has no path (futimens). Undefined if there is
   * neither, or strace cut the path.
   */
  #locate(
    process: StraceProcess,
    call: Call,
    folder: number | undefined,
    position: number,
    follow: boolean,
  ): ResolvedPath | undefined {
    const raw = bytesOf(call.arguments[position]);
    const named = folder === undefined ? undefined : pathBehind(call.arguments[folder]);
    if (call.arguments[position] === 'NULL' && named) return { path: named.toString('latin1') };
    if (!raw || raw.length === 0) return undefined;
    return this.#resolve(process, named?.toString('latin1') ?? process.cwd, raw.toString('latin1'), follow);
  }

  #resolve(process: StraceProcess, base: BytePath, raw: BytePath, follow: boolean): ResolvedPath {
    const walked = this.#links.resolve(base, raw, follow);
    for (const link of walked.links) this.#followed(process, link);
    const path = foldSelf(process, walked.path);
    if (path.length >= PATH_MAX) this.#builder.gap(BEYOND_PATH_MAX);
    return walked.links.length > 0 ? { path, asked: absolute(base, raw) } : { path };
  }

  #succeeded(
    process: StraceProcess,
    traced: TracedCall,
    call: Call,
    place: ResolvedPath,
    flags: string,
  ): void {
    switch (traced.meaning) {
      case 'open':
        this.#opened(process, call, call.name === 'creat' ? 'O_WRONLY|O_CREAT|O_TRUNC' : flags, place);
        break;
      case 'readlink':
        this.#followed(process, place.path);
        break;
      case 'truncate':
        if (call.arguments[1] !== '0') this.#reportOnce(process, 'read', place);
        this.#reportOnce(process, 'write', place);
        break;
      case 'attribute':
        this.#changedAttributes(process, place);
        break;
      case 'create':
      case 'create-folder':
        this.#created(process, place, traced.meaning === 'create-folder' ? { folder: true } : {});
        break;
      case 'symlink':
        this.#symlinked(process, call, place);
        break;
      case 'hardlink':
      case 'rename':
        this.#paired(process, traced, call, place);
        break;
      case 'delete':
        this.#deleted(process, place);
        break;
      case 'exec':
        this.#executed(process, call, place);
        break;
      case 'chdir':
        process.cwd = place.path;
        this.#reportOnce(process, 'entered', place);
        break;
      default:
        this.#reportProbe(process, place);
        if (gotUserAttribute(call))
          this.#report(process, { kind: 'asked', question: 'user attribute', file: toAbsPath(place.path) });
    }
  }

  /** A call that needs an empty folder tells that there are names in it. */
  #notEmpty(process: StraceProcess, traced: TracedCall, call: Call, place: ResolvedPath): void {
    const folder = traced.meaning === 'rename' ? this.#secondOf(process, traced, call) : place;
    if (folder && this.#seen.isNewListing(folder.path, process.pid))
      this.#report(process, { kind: 'list', ...paths(folder) });
  }

  /** A failed call is still a probe. */
  #failed(process: StraceProcess, place: ResolvedPath, error: string, wanted: boolean): void {
    if (ABOUT_THE_CALL.has(error)) return;
    const missing = error === 'ENOENT' || error === 'ENOTDIR' || this.#links.kindOf(place.path) === 'absent';
    if (!missing) this.#reportProbe(process, place);
    else if (this.#seen.isNewAbsence(place.path))
      this.#report(process, { kind: 'absent', ...paths(place), ...(wanted && { wanted }) });
  }

  #opened(process: StraceProcess, call: Call, flags: string, asked: ResolvedPath): void {
    const real = foldSelf(process, pathBehind(call.result)?.toString('latin1') ?? asked.path);
    const place = real === asked.path ? asked : { path: real, asked: asked.path };
    const looksOnly = /O_DIRECTORY|O_PATH/.test(flags) || this.#links.kindOf(place.path) === 'folder';
    const writes = /O_WRONLY|O_RDWR/.test(flags);
    const empties = flags.includes('O_TRUNC');
    const creates = flags.includes('O_CREAT') && !this.#existedBefore(place.path);
    if (looksOnly) this.#lookedAt(process, place);
    else if (creates) this.#created(process, place, wantsContent(flags) ? { wanted: true } : {});
    else {
      // Without O_TRUNC the old content stays, so the result depends on it even if the command does not read
      // it.
      if (isKernelFile(place.path) || isCompiledModule(place.path)) this.#seen.forgetReading(place.path);
      if (!empties) this.#reportOnce(process, 'read', place);
      if (writes || empties) this.#reportOnce(process, 'write', place);
    }
  }

  /** Each opening of a folder may have another reason to list it. */
  #lookedAt(process: StraceProcess, place: ResolvedPath): void {
    this.#seen.forgetListing(place.path);
    this.#reportProbe(process, place);
  }

  /**
   * strace does not report whether O_CREAT created the file; its birth time does, if the file still exists.
   */
  #existedBefore(path: BytePath): boolean {
    if (this.#seen.wasWritten(path)) return true;
    try {
      return statSync(toBuffer(path), { bigint: true }).birthtimeNs <= this.#bornBefore;
    } catch {
      return false; // deleted, or the path is too long
    }
  }

  #created(
    process: StraceProcess,
    place: ResolvedPath,
    what: Pick<PathAccess, 'folder' | 'wanted'> = {},
  ): void {
    this.#seen.created(place.path);
    this.#report(process, { kind: 'write', ...paths(place), created: true, ...what });
  }

  #deleted(process: StraceProcess, place: ResolvedPath): void {
    this.#seen.removed(place.path);
    this.#links.forget();
    this.#report(process, { kind: 'delete', ...paths(place) });
  }

  #symlinked(process: StraceProcess, call: Call, place: ResolvedPath): void {
    const target = bytesOf(call.arguments[0]) ?? Buffer.alloc(0);
    this.#seen.created(place.path);
    this.#links.forget();
    this.#report(process, {
      kind: 'symlink',
      path: toAbsPath(place.path),
      target: linkTargetFromBytes(target),
    });
  }

  /** The second path follows the first, with its folder handle where there is one. */
  #secondOf(process: StraceProcess, traced: TracedCall, call: Call): ResolvedPath | undefined {
    const distance = traced.folder === undefined ? 1 : 2;
    const folder = traced.folder === undefined ? undefined : traced.folder + distance;
    return this.#locate(process, call, folder, (traced.path ?? 0) + distance, false);
  }

  #paired(process: StraceProcess, traced: TracedCall, call: Call, from: ResolvedPath): void {
    const to = this.#secondOf(process, traced, call);
    if (!to) return;
    const both = { path: toAbsPath(from.path), to: toAbsPath(to.path) };
    const exchange = call.arguments[4]?.includes('RENAME_EXCHANGE') === true;
    this.#links.forget();
    if (traced.meaning === 'rename') {
      this.#seen.removed(from.path);
      this.#seen.created(to.path);
      this.#report(process, { kind: 'rename', ...both, ...(exchange && { exchange: true }) });
    } else if (from.path.startsWith('/proc/')) {
      this.#created(process, to);
    } else {
      this.#seen.linked(to.path);
      this.#report(process, { kind: 'hardlink', ...both });
    }
  }

  #executed(process: StraceProcess, call: Call, place: ResolvedPath): void {
    const list = call.arguments[call.name === 'execveat' ? 2 : 1];
    const argv = stringsIn(list).map(nameFromBytes);
    const cut = list?.endsWith('...]') && ({ argvIsCut: true } as const);
    this.#builder.programStarted(process.pid, { argv, ...cut }, this.#atMs);
    let program = place;
    for (let depth = 0; depth < MAX_INTERPRETERS && !this.#seen.wasExecuted(program.path); depth++) {
      this.#reportOnce(process, 'exec', program, withheldBy(program.path));
      const interpreter = interpreterOf(toBuffer(program.path));
      if (!interpreter) return;
      program = this.#resolve(process, process.cwd, interpreter.toString('latin1'), true);
    }
  }

  // ---- calls that don't ----

  #onHandleOrView(process: StraceProcess, traced: TracedCall, call: Call): void {
    const path = pathBehind(call.arguments[0])?.toString('latin1');
    const opened = pathBehind(call.result)?.toString('latin1');
    switch (traced.meaning) {
      case 'opened-handle':
        if (opened) this.#reportOnce(process, 'read', { path: opened });
        break;
      case 'list':
        if (path && this.#seen.isNewListing(path, process.pid)) {
          const folder = toAbsPath(path);
          this.#report(process, { kind: 'list', path: folder, ...shownBy(folder) });
        }
        break;
      case 'attribute-handle':
        if (path) this.#changedAttributes(process, { path });
        break;
      case 'fchdir':
        if (path) process.cwd = path;
        break;
      case 'new-view':
        if (call.arguments[0] !== 'CLONE_FS') this.viewChanged();
        break;
      case 'ptrace':
        this.#ptrace(call);
        break;
      case 'seccomp':
        if (call.arguments[1]?.includes('NEW_LISTENER')) {
          this.#builder.gap('a process answers system calls for another one (seccomp listener)');
        }
        break;
    }
  }

  #asked(process: StraceProcess, call: Call): void {
    const question = questionIn(call);
    const file = /xattr/.test(call.name) ? pathBehind(call.arguments[0])?.toString('latin1') : undefined;
    if (question)
      this.#report(process, { ...question, ...(file !== undefined && { file: toAbsPath(file) }) });
  }

  #ptrace(call: Call): void {
    const starts = /^PTRACE_(TRACEME|ATTACH|SEIZE)/.test(call.arguments[0] ?? '');
    if (starts) this.#builder.gap('a process tried to trace another one');
  }

  #onSocket(process: StraceProcess, traced: TracedCall, call: Call): void {
    const kind = traced.meaning === 'bound' ? 'bind' : 'connect';
    const error = errorOf(call.result);
    const handle = call.arguments[0] ?? '';
    if (kind === 'bind' && error !== undefined) return;
    if (call.name === 'getsockname' && !this.#portsToCome.delete(handle)) return;
    const toPath = (raw: Buffer) =>
      toAbsPath(this.#resolve(process, process.cwd, raw.toString('latin1'), true).path);
    for (const address of addressesIn(call, toPath)) {
      if (kind === 'bind' && address.family === 'inet' && address.port === 0) this.#portsToCome.add(handle);
      else
        this.#reached(process, call, {
          kind,
          address,
          ...(hasFailed(error, address) && { failed: true }),
          ...(call.name.startsWith('send') && { sent: true }),
        });
    }
  }

  #reached(process: StraceProcess, call: Call, told: Without<SocketAccess, 'process' | 'atMs'>): void {
    const key = `${told.kind} ${told.failed ?? false} ${told.sent ?? false} ${addressText(told.address)}`;
    if (this.#addresses.has(key)) return;
    this.#addresses.add(key);
    if (call.name === 'bind' && told.address.family === 'unix') {
      this.#report(process, { kind: 'write', path: told.address.path, created: true });
    }
    this.#report(process, told);
  }

  #ring(process: StraceProcess, call: Call): void {
    const flags = /flags=(0x[0-9a-f]+|\d+)/.exec(call.arguments[1] ?? '')?.[1] ?? '0';
    this.#report(process, { kind: 'io_uring', entries: Number(call.arguments[0]), flags: Number(flags) });
  }

  // ---- telling ----

  #reportProbe(process: StraceProcess, place: ResolvedPath): void {
    if (this.#seen.isNewProbe(place.path)) this.#report(process, { kind: 'probe', ...paths(place) });
  }

  #reportOnce(
    process: StraceProcess,
    kind: 'read' | 'write' | 'exec' | 'entered',
    place: ResolvedPath,
    more: Pick<PathAccess, 'withheld'> = {},
  ): void {
    if (this.#seen.isNew(place.path, kind)) this.#report(process, { kind, ...paths(place), ...more });
  }

  #changedAttributes(process: StraceProcess, place: ResolvedPath): void {
    if (!this.#seen.isNew(place.path, 'attributes')) return;
    this.#report(process, { kind: 'write', ...paths(place), attributes: true });
  }

  #followed(process: StraceProcess, path: BytePath): void {
    if (path.startsWith('/proc/') || !this.#seen.isNew(path, 'followed')) return;
    this.#report(process, { kind: 'followed', path: toAbsPath(path) });
  }

  #report(process: StraceProcess, told: AccessDetails): void {
    this.#builder.access(process.pid, withCaller(told), this.#atMs);
  }
}

/**
 * A traced program has the user and group of its caller, whatever its file says. strace's lines tell neither
 * the caller's nor capabilities of the file, so the caller counts as Assay's own user.
 */
function withheldBy(path: BytePath): Pick<PathAccess, 'withheld'> {
  const status = statOf(path);
  const user = geteuid?.();
  if (!status || user === undefined) return {};
  if (status.mode & S_ISUID && status.uid !== user) return { withheld: 'set-user-ID' };
  const setsGroup = status.mode & S_ISGID && status.mode & constants.S_IXGRP && user !== 0;
  return setsGroup && status.gid !== getegid?.() ? { withheld: 'set-group-ID' } : {};
}

function statOf(path: BytePath): Stats | undefined {
  try {
    return statSync(toBuffer(path));
  } catch {
    return undefined;
  }
}

/** Errors of connect that do not mean that nobody listens. */
const UNDECIDED = new Set(['EAGAIN', 'EINPROGRESS', 'EINTR']);

function hasFailed(error: string | undefined, address: SocketAddress): boolean {
  if (error === undefined || UNDECIDED.has(error)) return false;
  return address.family !== 'inet' || isLoopbackSocket(address) || isWildcard(address);
}

/** strace does not tell whether the dynamic loader made a call, so it counts as the program's own. */
function withCaller(told: AccessDetails): AccessDetails {
  const isLook = told.kind === 'read' || told.kind === 'probe' || told.kind === 'absent';
  return isLook && told.path === LOADER_CACHE ? { ...told, byProgram: true } : told;
}

/** Whether the open call depends on the file's content: it reads, or it appends. */
function wantsContent(flags: string): boolean {
  if (/O_TRUNC|O_EXCL|O_PATH|O_DIRECTORY/.test(flags)) return false;
  return flags.includes('O_APPEND') || !flags.includes('O_WRONLY');
}

function paths(place: ResolvedPath): { path: AbsPath; asked?: AbsPath } {
  return { path: toAbsPath(place.path), ...(place.asked !== undefined && { asked: toAbsPath(place.asked) }) };
}

function toAbsPath(path: BytePath): AbsPath {
  return absPathFromBytes(toBuffer(path));
}

/**
 * Describes the machine: not what most programs read of themselves, such as /proc/self/maps. Each opening may
 * have another reason: the runtime's at its start, or the script's.
 */
/** Python's importer opens it, or somebody who wants its bytes. Not the system's own modules. */
function isCompiledModule(path: BytePath): boolean {
  return path.endsWith('.pyc') && !path.startsWith('/usr/');
}

function isKernelFile(path: BytePath): boolean {
  return /^\/sys\/|^\/proc\/(?!self\/)|^\/proc\/self\/(?:cgroup|mountinfo)$/.test(path);
}

/** A process's own pid in /proc means /proc/self. */
function foldSelf(process: StraceProcess, path: BytePath): BytePath {
  if (!path.startsWith('/proc/')) return path;
  return path.replace(new RegExp(`^/proc/(?:${process.pid}|thread-self)(?=/|$)`), '/proc/self');
}
