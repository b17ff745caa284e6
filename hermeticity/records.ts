// Decodes the records of the helper; hermeticity/native/record.h is their grammar.
import { AssayError } from '../core/errors.ts';
import { nameFromBytes } from '../core/path.ts';
import { absPathFromBytes, linkTargetFromBytes } from './abspath.ts';
import type { Exit, PathVerb } from './access.ts';
import { exitOfStatus, type ReportBuilder, type Told } from './report-builder.ts';
import { addressFromBytes } from './socket-address.ts';

/** The helper must have been built from the same grammar. */
export const RECORD_VERSION = 2;

const HEADER_BYTES = 16;
const MAX_PAYLOAD_BYTES = 1 << 20;

const KIND = {
  process: 1,
  image: 2,
  exit: 3,
  rename: 20,
  hardlink: 21,
  symlink: 22,
  socket: 30,
  ring: 31,
  survivor: 40,
  gap: 41,
  start: 42,
  end: 255,
} as const;

const PATH_VERBS: ReadonlyMap<number, PathVerb> = new Map([
  [10, 'read'],
  [11, 'probe'],
  [12, 'absent'],
  [13, 'list'],
  [14, 'write'],
  [15, 'delete'],
  [16, 'exec'],
  [17, 'followed'],
  [18, 'entered'],
]);

const FLAG = { created: 1, folder: 2, attributes: 4, exchange: 8, bound: 16, cut: 32, wanted: 64 } as const;

export interface StartFailure {
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

/** Feeds a builder from chunks that are cut anywhere. */
export class RecordDecoder {
  readonly #builder: ReportBuilder<number>;
  #rest: Buffer = Buffer.alloc(0);
  #exit: Exit | undefined;
  #startFailure: StartFailure | undefined;

  constructor(builder: ReportBuilder<number>) {
    this.#builder = builder;
  }

  /** How the command ended; undefined until the last record is there. */
  get exit(): Exit | undefined {
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
      this.#take({
        kind: bytes.readUInt8(at),
        flags: bytes.readUInt8(at + 1),
        code: bytes.readUInt16LE(at + 2),
        process: bytes.readUInt32LE(at + 4),
        atMs: bytes.readUInt32LE(at + 8),
        payload: bytes.subarray(at + HEADER_BYTES, end),
      });
      at = end;
    }
    this.#rest = bytes.subarray(at);
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
        this.#builder.programStarted(process, argumentsOf(payload), atMs);
        return;
      case KIND.exit:
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
        this.#exit = exitOfStatus(payload.readUInt32LE(0));
        return;
      default:
        this.#builder.access(process, accessOf(record), atMs);
    }
  }
}

function accessOf(record: Record): Told {
  const { kind, flags, payload } = record;
  const verb = PATH_VERBS.get(kind);
  if (verb) return pathAccess(verb, flags, payload);
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
        kind: flags & FLAG.bound ? 'bind' : 'connect',
        address: addressFromBytes(payload),
        ...(record.code !== 0 && { failed: true }),
      };
    case KIND.ring:
      return { kind: 'io_uring', entries: payload.readUInt32LE(0), flags: payload.readUInt32LE(4) };
    default:
      throw new AssayError('ASSAY_TRACE_BROKEN', `a record of unknown kind ${kind}`);
  }
}

function pathAccess(kind: PathVerb, flags: number, payload: Buffer): Told {
  const [path, second] = pair(payload);
  /* The target of a link that was followed is told for people who read raw records; the walk goes on by itself. */
  const asked = kind === 'followed' ? undefined : second;
  return {
    kind,
    path: absPathFromBytes(path),
    ...(asked && { asked: absPathFromBytes(asked) }),
    ...(flags & FLAG.created && { created: true }),
    ...(flags & FLAG.folder && { folder: true }),
    ...(flags & FLAG.attributes && { attributes: true }),
    ...(flags & FLAG.wanted && { wanted: true }),
  };
}

function pair(payload: Buffer): [Buffer, Buffer | undefined] {
  const nul = payload.indexOf(0);
  return nul === -1 ? [payload, undefined] : [payload.subarray(0, nul), payload.subarray(nul + 1)];
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
