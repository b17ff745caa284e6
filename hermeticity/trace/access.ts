// What a traced command did, in the words that both tracers use. A report is facts only: verdict.ts judges them.
import type { AbsPath } from '../system/absolute-path.ts';

/** Who did it first, and when. The order of a report's accesses is the order in which they happened. */
interface Occurrence {
  /** Position in the report's list of processes. */
  readonly process: number;
  /** Milliseconds since the command was started. */
  readonly atMs: number;
}

/**
 * `probe`: looked whether it is there, and it was. `absent`: looked, and it was not. `followed`: a symbolic link that was
 * read or led somewhere. `entered`: became a working folder.
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

export interface PathAccess extends Occurrence {
  readonly kind: PathVerb;
  readonly path: AbsPath;
  /** What was asked for, if symbolic links led from there to `path`. */
  readonly asked?: AbsPath;
  /** A write that made something that was not there before. */
  readonly created?: true;
  /** What was made is a folder. */
  readonly folder?: true;
  /** A write of mode, owner, times or extended attributes only. */
  readonly attributes?: true;
  /** Not there, and opened for what would have been in it: to be read, or to be written on to. */
  readonly wanted?: true;
}

export interface RenameAccess extends Occurrence {
  readonly kind: 'rename' | 'hardlink';
  readonly path: AbsPath;
  readonly to: AbsPath;
  /** The two changed places. */
  readonly exchange?: true;
}

export interface SymlinkAccess extends Occurrence {
  readonly kind: 'symlink';
  readonly path: AbsPath;
  /** As it was given: relative to the link's folder, or absolute. */
  readonly target: string;
}

export type Address =
  | { readonly family: 'inet'; readonly host: string; readonly port: number }
  | { readonly family: 'unix'; readonly path: AbsPath }
  /** A unix socket whose name is in no file system. */
  | { readonly family: 'abstract'; readonly name: string }
  | { readonly family: 'other'; readonly number: number };

export interface SocketAccess extends Occurrence {
  readonly kind: 'connect' | 'bind';
  readonly address: Address;
  /** A unix socket that was not there. */
  readonly failed?: true;
}

/** An attempt to use io_uring, which a tracer can't look into: it was answered with ENOSYS. */
export interface RingAccess extends Occurrence {
  readonly kind: 'io_uring';
  readonly entries: number;
  readonly flags: number;
}

export type Access = PathAccess | RenameAccess | SymlinkAccess | SocketAccess | RingAccess;

/** Omit that keeps a union a union. */
export type Without<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

/** A program that ran: a process that starts another program by exec appears once for each of them. */
export interface TracedProcess {
  readonly pid: number;
  /** Position in the list; undefined for the command itself. */
  readonly parent: number | undefined;
  readonly argv: readonly string[];
  readonly atMs: number;
  /** It outlived the command and was ended. */
  readonly survived: boolean;
}

/** Node has no names for the real-time signals, 32 to 64. */
export type SignalName = NodeJS.Signals | `signal ${number}`;

export type ExitStatus = { readonly code: number } | { readonly signal: SignalName };

export interface TraceReport {
  readonly tracer: { readonly name: string; readonly version: string };
  readonly exit: ExitStatus;
  /** By start. The command is the first. */
  readonly processes: readonly TracedProcess[];
  readonly accesses: readonly Access[];
  /** False if anything may have happened that is not in `accesses`; `gaps` says why. */
  readonly complete: boolean;
  readonly gaps: readonly string[];
}
