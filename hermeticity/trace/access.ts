// The accesses of a traced command, in one vocabulary for the tracer and the witness of the tests. A report contains facts only;
// verdict/verdict.ts judges them.
import type { AbsPath } from '../../system/paths/absolute-path.ts';
import type { FolderNames } from './folder-names.ts';

/** The first occurrence. Accesses stand in the report in the order in which they happened. */
interface Occurrence {
  /** Index in the report's list of processes. */
  readonly process: number;
  /** Milliseconds since the command was started. */
  readonly atMs: number;
}

/**
 * `probe`: checked a path that exists. `absent`: checked a path that does not. `followed`: read or traversed
 * a symbolic link. `entered`: changed the working directory.
 */
export type PathVerb =
  | 'read'
  | 'probe'
  | 'absent'
  | 'list'
  | 'write'
  | 'delete'
  | 'exec'
  | 'followed'
  | 'entered';

/** Which file or folder an access found: another one, or an opened file that was changed, has another stamp. */
export interface FileStamp {
  readonly inode: number;
  /** The ctime of a file that was opened. */
  readonly changedAtMs?: number;
  readonly folder?: true;
  /** Where it was found, if the access names the file by another path. */
  readonly at?: AbsPath;
}

/** How a program's file gives its process other rights than those of its caller. */
export type WithheldRight = 'set-user-ID' | 'set-group-ID' | 'capabilities';

export interface PathAccess extends Occurrence {
  readonly kind: PathVerb;
  readonly path: AbsPath;
  /** The requested path, if symbolic links led from it to `path`. */
  readonly asked?: AbsPath;
  /** A write that created the path. */
  readonly created?: true;
  /** The created path is a folder. */
  readonly folder?: true;
  /** A write of mode, owner, times or extended attributes only. */
  readonly attributes?: true;
  /** Absent, and opened for its content: to read it or to append to it. */
  readonly wanted?: true;
  /**
   * The program itself looked at /etc/ld.so.cache, or a loader other than glibc's did. Without it glibc's
   * loader did. No other path has this.
   */
  readonly byProgram?: true;
  /** `list`: what the folder showed. Undefined below /proc, and if the tracer could not read the folder. */
  readonly names?: FolderNames;
  /** `list`: the process looked at the folder itself just before it opened it. Only the native tracer tells. */
  readonly probedFirst?: true;
  /** `list`: the names changed while one listing was read, so the command was shown these or the earlier ones. */
  readonly again?: true;
  /** What was read, probed, run or entered. Only the native tracer tells. */
  readonly stamp?: FileStamp;
  /** `exec`: rights that the file gives, and that the program did not get because it was traced. */
  readonly withheld?: WithheldRight;
}

export interface RenameAccess extends Occurrence {
  readonly kind: 'rename' | 'hardlink';
  readonly path: AbsPath;
  readonly to: AbsPath;
  /** The two were exchanged (RENAME_EXCHANGE). */
  readonly exchange?: true;
}

export interface SymlinkAccess extends Occurrence {
  readonly kind: 'symlink';
  readonly path: AbsPath;
  /** The raw target: relative to the link's folder, or absolute. */
  readonly target: string;
}

export type SocketAddress =
  | { readonly family: 'inet'; readonly host: string; readonly port: number }
  | { readonly family: 'unix'; readonly path: AbsPath }
  /** A unix socket in the abstract namespace. */
  | { readonly family: 'abstract'; readonly name: string }
  | { readonly family: 'other'; readonly number: number };

export interface SocketAccess extends Occurrence {
  readonly kind: 'connect' | 'bind';
  readonly address: SocketAddress;
  /** Nobody listens there, or the unix socket does not exist. Known for addresses of this machine. */
  readonly failed?: true;
  /**
   * A stream socket was connected: somebody listened. The native tracer tells it of this machine's addresses.
   */
  readonly reached?: true;
  /** A datagram was sent there. */
  readonly sent?: true;
  /** A datagram socket at a port that the kernel chose, as a client has one. Only the native tracer tells. */
  readonly assigned?: true;
}

/** An attempt to use io_uring, which a tracer cannot observe: the tracer denied it with ENOSYS. */
export interface RingAccess extends Occurrence {
  readonly kind: 'io_uring';
  readonly entries: number;
  readonly flags: number;
}

/** A question to the kernel about the machine that names no path. */
export interface QuestionAccess extends Occurrence {
  readonly kind: 'asked';
  /** The name of the call, or what it asks for (hermeticity/native/ask.c). */
  readonly question: string;
  /** Which limit, ioctl, address family or netlink protocol. */
  readonly number?: number;
  /** The file that was asked about, if there is one. */
  readonly file?: AbsPath;
}

export type Access = PathAccess | RenameAccess | SymlinkAccess | SocketAccess | RingAccess | QuestionAccess;

/** Omit, distributed over a union. */
export type Without<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

/** A program that ran. A process that calls exec again appears once per program. */
export interface TracedProcess {
  readonly pid: number;
  /** Index in the list; undefined for the command itself. */
  readonly parent: number | undefined;
  readonly argv: readonly string[];
  /** The program got more arguments than the tracer reports. */
  readonly argvIsCut?: true;
  /** The file that runs: a script's interpreter. Only the native tracer tells. */
  readonly file?: AbsPath;
  /** The environment tells Node to load other code before the script. Only the native tracer tells. */
  readonly hooked?: true;
  readonly atMs: number;
  /** The process outlived the command and was killed. */
  readonly survived: boolean;
}

/** Node has no names for the real-time signals, 32 to 64. */
export type SignalName = NodeJS.Signals | `signal ${number}`;

export type ExitStatus = { readonly code: number } | { readonly signal: SignalName };

export interface TraceReport {
  readonly tracer: { readonly name: string; readonly version: string };
  readonly exit: ExitStatus;
  /** In order of start. The command is the first. */
  readonly processes: readonly TracedProcess[];
  readonly accesses: readonly Access[];
  /** False if an access may be missing from `accesses`; `gaps` says why. */
  readonly complete: boolean;
  readonly gaps: readonly string[];
}
