// Decodes the records of the native tracer. hermeticity/native/record.h defines the format.
import { AssayError } from '../../core/errors.ts';
import { nameFromBytes } from '../../core/path.ts';
import { absPathFromBytes, absPathFromSlice, linkTargetFromBytes } from '../../system/paths/absolute-path.ts';
import type { ExitStatus, FileStamp, PathVerb, WithheldRight } from './access.ts';
import { exitStatusOf } from './exit-status.ts';
import { FolderNames } from './folder-names.ts';
import type { AccessDetails, ReportBuilder, StartedProgram } from './report-builder.ts';
import { addressFromBytes } from './socket-address.ts';

/** The helper must have the same version. */
export const RECORD_VERSION = 6;

const HEADER_BYTES = 16;
const MAX_PAYLOAD_BYTES = 1 << 20;

const KIND = {
  process: 1,
  image: 2,
  exit: 3,
  names: 19,
  rename: 20,
  hardlink: 21,
  symlink: 22,
  socket: 30,
  ring: 31,
  asked: 32,
  survivor: 40,
  gap: 41,
  start: 42,
  end: 255,
} as const;

/** The verbs of record kinds 10, 11 … */
const PATH_VERBS: readonly PathVerb[] = [
  'read',
  'probe',
  'absent',
  'list',
  'write',
  'delete',
  'exec',
  'followed',
  'entered',
];
const FIRST_PATH_VERB = 10;

const FLAG = {
  created: 1,
  folder: 2,
  attributes: 4,
  exchange: 8,
  stamped: 16,
  cut: 32,
  wanted: 64,
  byProgram: 128,
} as const;

/** Of a listing: the folder was probed first. Of names: more of them follow. */
const LIST_FLAG = { probed: 1, again: 2 } as const;
const NAMES_FLAG = { continued: 1 } as const;
const IMAGE_FLAG = { hooked: 1 } as const;

const STAMP_BYTES = 16;

const SOCKET_FLAG = { reached: 1, sent: 2, assigned: 4, bound: 16 } as const;

/** The bits of an exec record's code, the most important first. */
const WITHHELD: readonly (readonly [bit: number, right: WithheldRight])[] = [
  [1, 'set-user-ID'],
  [2, 'set-group-ID'],
  [4, 'capabilities'],
];

interface StartFailure {
  readonly text: string;
  readonly errno: number;
}

interface Record {
  readonly kind: number;
  readonly flags: number;
  readonly code: number;
  readonly process: number;
  readonly atMs: number;
  readonly payload: Buffer;
}

/** Decodes chunks of any length and passes the records to a builder. */
export class RecordDecoder {
  readonly #builder: ReportBuilder<number>;
  #rest: Buffer = Buffer.alloc(0);
  /** What each folder showed last. */
  readonly #names = new Map<string, FolderNames>();
  #namePieces: Buffer[] = [];
  #exit: ExitStatus | undefined;
  #startFailure: StartFailure | undefined;

  constructor(builder: ReportBuilder<number>) {
    this.#builder = builder;
  }

  /** The command's exit status; undefined until the last record. */
  get exit(): ExitStatus | undefined {
    return this.#exit;
  }

  get startFailure(): StartFailure | undefined {
    return this.#startFailure;
  }

  push(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    while (bytes.length - at >= HEADER_BYTES) {
      const length = bytes.readUInt32LE(at + 12);
      if (length > MAX_PAYLOAD_BYTES)
        throw new AssayError('ASSAY_TRACE_BROKEN', `a record of ${length} bytes`);
      const end = at + HEADER_BYTES + length;
      if (end > bytes.length) break;
      const kind = bytes.readUInt8(at);
      const verb = PATH_VERBS[kind - FIRST_PATH_VERB];
      if (verb) this.#takePath(verb, bytes, at, end);
      else this.#take(recordAt(bytes, at, end));
      at = end;
    }
    this.#rest = bytes.subarray(at);
  }

  /** The most frequent records, tens of thousands in a large command: decoded without copying. */
  #takePath(verb: PathVerb, bytes: Buffer, at: number, end: number): void {
    const access = verb === 'list' ? this.#listing(bytes, at, end) : pathAccess(verb, bytes, at, end);
    this.#builder.access(bytes.readUInt32LE(at + 4), access, bytes.readUInt32LE(at + 8));
  }

  #listing(bytes: Buffer, at: number, end: number): AccessDetails {
    const { flags, payload } = recordAt(bytes, at, end);
    const [folder, asked] = pair(payload);
    const path = absPathFromBytes(folder);
    const names = this.#names.get(path);
    return {
      kind: 'list',
      path,
      ...(asked && { asked: absPathFromBytes(asked) }),
      ...(names && { names }),
      ...(flags & LIST_FLAG.probed && { probedFirst: true }),
      ...(flags & LIST_FLAG.again && { again: true }),
    };
  }

  #takeNames({ flags, payload }: Record): void {
    const [folder, names] = pair(payload);
    this.#namePieces.push(names ?? Buffer.alloc(0));
    if (flags & NAMES_FLAG.continued) return;
    this.#names.set(absPathFromBytes(folder), new FolderNames(Buffer.concat(this.#namePieces)));
    this.#namePieces = [];
  }

  #take(record: Record): void {
    const { process, atMs, payload } = record;
    switch (record.kind) {
      case KIND.process:
        this.#builder.processStarted(
          process,
          payload.readUInt32LE(0),
          payload.readUInt32LE(4) || undefined,
          atMs,
        );
        return;
      case KIND.image:
        this.#builder.programStarted(process, programOf(record), atMs);
        return;
      case KIND.exit:
        return;
      case KIND.names:
        this.#takeNames(record);
        return;
      case KIND.survivor:
        this.#builder.survivor(process);
        return;
      case KIND.gap:
        this.#builder.gap(payload.toString('utf8'));
        return;
      case KIND.start:
        this.#startFailure = { text: payload.toString('utf8'), errno: record.code };
        return;
      case KIND.end:
        this.#exit = exitStatusOf(payload.readUInt32LE(0));
        return;
      default:
        this.#builder.access(process, accessOf(record), atMs);
    }
  }
}

function recordAt(bytes: Buffer, at: number, end: number): Record {
  return {
    kind: bytes.readUInt8(at),
    flags: bytes.readUInt8(at + 1),
    code: bytes.readUInt16LE(at + 2),
    process: bytes.readUInt32LE(at + 4),
    atMs: bytes.readUInt32LE(at + 8),
    payload: bytes.subarray(at + HEADER_BYTES, end),
  };
}

function accessOf(record: Record): AccessDetails {
  const { kind, flags, payload } = record;
  switch (kind) {
    case KIND.rename:
    case KIND.hardlink: {
      const [from, to] = pair(payload);
      return {
        kind: kind === KIND.rename ? 'rename' : 'hardlink',
        path: absPathFromBytes(from),
        to: absPathFromBytes(to ?? Buffer.alloc(0)),
        ...(flags & FLAG.exchange && { exchange: true }),
      };
    }
    case KIND.symlink: {
      const [path, target] = pair(payload);
      return {
        kind: 'symlink',
        path: absPathFromBytes(path),
        target: linkTargetFromBytes(target ?? Buffer.alloc(0)),
      };
    }
    case KIND.socket:
      return {
        kind: flags & SOCKET_FLAG.bound ? 'bind' : 'connect',
        address: addressFromBytes(payload),
        ...(record.code !== 0 && { failed: true }),
        ...(flags & SOCKET_FLAG.reached && { reached: true }),
        ...(flags & SOCKET_FLAG.sent && { sent: true }),
        ...(flags & SOCKET_FLAG.assigned && { assigned: true }),
      };
    case KIND.ring:
      return { kind: 'io_uring', entries: payload.readUInt32LE(0), flags: payload.readUInt32LE(4) };
    case KIND.asked: {
      const [question, path] = pair(payload);
      return {
        kind: 'asked',
        question: question.toString('latin1'),
        ...(record.code !== 0 && { number: record.code }),
        ...(path && { file: absPathFromBytes(path) }),
      };
    }
    default:
      throw new AssayError('ASSAY_TRACE_BROKEN', `a record of unknown kind ${kind}`);
  }
}

/** The record from `at` to `end`: a path, or one up to a NUL that a second path follows. */
function pathAccess(kind: PathVerb, bytes: Buffer, at: number, end: number): AccessDetails {
  const flags = bytes.readUInt8(at + 1);
  const code = bytes.readUInt16LE(at + 2);
  const isStamped = (flags & FLAG.stamped) !== 0;
  const start = at + HEADER_BYTES + (isStamped ? STAMP_BYTES : 0);
  const nul = bytes.indexOf(0, start);
  const pathEnd = nul === -1 || nul > end ? end : nul;
  const path = absPathFromSlice(bytes, start, pathEnd);
  /* The target of a followed link is there for people who read raw records; it has its own record. */
  const hasAsked = pathEnd < end && kind !== 'followed';
  if (!hasAsked && flags === 0 && code === 0) return { kind, path };
  const withheld = WITHHELD.find(([bit]) => code & bit)?.[1];
  return {
    kind,
    path,
    ...(hasAsked && { asked: absPathFromSlice(bytes, pathEnd + 1, end) }),
    ...(flags & FLAG.created && { created: true }),
    ...(flags & FLAG.folder && !isStamped && { folder: true }),
    ...(flags & FLAG.attributes && { attributes: true }),
    ...(flags & FLAG.wanted && { wanted: true }),
    ...(flags & FLAG.byProgram && { byProgram: true }),
    ...(withheld && { withheld }),
    ...(isStamped && { stamp: stampAt(bytes, at + HEADER_BYTES, flags) }),
  };
}

function stampAt(bytes: Buffer, at: number, flags: number): FileStamp {
  const MICROSECONDS = 1000;
  const changed = bigNumber(bytes, at + 8);
  return {
    inode: bigNumber(bytes, at),
    ...(changed !== 0 && { changedAtMs: changed / MICROSECONDS }),
    ...(flags & FLAG.folder && { folder: true }),
  };
}

/** 64 bits as a double. A larger number loses its last bits, as in Node's stats. */
function bigNumber(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at + 4) * 2 ** 32 + bytes.readUInt32LE(at);
}

function pair(payload: Buffer): [Buffer, Buffer | undefined] {
  const nul = payload.indexOf(0);
  return nul === -1 ? [payload, undefined] : [payload.subarray(0, nul), payload.subarray(nul + 1)];
}

function programOf({ flags, payload }: Record): StartedProgram {
  const end = payload.indexOf(0);
  return {
    argv: argumentsOf(payload.subarray(end + 1)),
    ...(end > 0 && { file: absPathFromBytes(payload.subarray(0, end)) }),
    ...(flags & FLAG.cut && { argvIsCut: true }),
    ...(flags & IMAGE_FLAG.hooked && { hooked: true }),
  };
}

function argumentsOf(payload: Buffer): string[] {
  const list: string[] = [];
  for (let start = 0; start < payload.length; ) {
    const nul = payload.indexOf(0, start);
    const end = nul === -1 ? payload.length : nul;
    list.push(nameFromBytes(payload.subarray(start, end)));
    start = end + 1;
  }
  return list;
}
