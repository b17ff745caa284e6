// What a process did to one folder, as strace recorded it: writes, names, syncs and output, each with the
// moment at which it began and ended. Moments are lines of the trace.
//
// An unknown call that changes the folder is an error.
import { basename, dirname } from 'node:path';
import { type Call, callsIn } from './strace.ts';

/** The calls that strace must record. */
export const RECORDED_CALLS = [
  ...[
    'openat',
    'close',
    'dup',
    'dup3',
    'fcntl',
    'write',
    'writev',
    'lseek',
    'pwrite64',
    'pwritev',
    'pwritev2',
  ],
  ...['ftruncate', 'truncate', 'fallocate', 'copy_file_range', 'sendfile', 'msync', 'sync_file_range'],
  ...['renameat', 'renameat2', 'linkat', 'symlinkat', 'unlinkat', 'mkdirat', 'fsync', 'fdatasync', 'mmap'],
  ...[
    '?rename',
    '?link',
    '?symlink',
    '?unlink',
    '?rmdir',
    '?mkdir',
    '?open',
    '?creat',
    '?dup2',
    '?io_uring_enter',
  ],
];

/**
 * Calls that only x86-64 has, as the calls with a directory descriptor that do the same; only their paths
 * matter here.
 */
const OLDER_NAMES: Readonly<Record<string, string>> = {
  open: 'openat',
  mkdir: 'mkdirat',
  rename: 'renameat',
  unlink: 'unlinkat',
  rmdir: 'unlinkat',
};

interface Span {
  readonly began: number;
  readonly ended: number;
}

export type Operation = Span &
  (
    | {
        readonly kind: 'write';
        readonly inode: number;
        readonly at: number;
        readonly bytes: Buffer;
        readonly isSynced: boolean;
      }
    | { readonly kind: 'truncate'; readonly inode: number; readonly size: number }
    | { readonly kind: 'names'; readonly changes: readonly NameChange[] }
    | { readonly kind: 'sync'; readonly inode: number }
    | { readonly kind: 'said'; readonly text: string }
  );

/** `inode` undefined: the name is removed. */
export interface NameChange {
  readonly folder: number;
  readonly name: string;
  readonly inode: number | undefined;
}

export interface Recording {
  readonly operations: readonly Operation[];
  /** Inodes that are folders. 0 is the parent of the recorded folder, which existed before. */
  readonly folders: ReadonlySet<number>;
  readonly moments: number;
}

interface OpenFile {
  readonly inode: number;
  readonly isSynced: boolean;
  position: number;
}

const STDOUT = 1;
const PARENT = 0;

/** `root` must not exist when the recording begins; its parent must. */
export function readRecording(trace: string, root: string): Recording {
  return new Reader(root).read(trace);
}

class Reader {
  readonly #root: string;
  readonly #inodes = new Map<string, number>();
  readonly #folders = new Set([PARENT]);
  readonly #open = new Map<number, OpenFile>();
  readonly #operations: Operation[] = [];
  #inodeCount = 1;

  constructor(root: string) {
    this.#root = root;
    this.#inodes.set(dirname(root), PARENT);
  }

  read(trace: string): Recording {
    let moments = 0;
    for (const call of callsIn(trace)) {
      moments = Math.max(moments, call.ended + 1);
      if (call.result >= 0) this.#take(call);
    }
    return { operations: this.#operations, folders: this.#folders, moments };
  }

  #take(call: Call): void {
    const { numbers } = call;
    const name = OLDER_NAMES[call.name] ?? call.name;
    if (name === 'openat') this.#opened(call);
    else if (name === 'close') this.#open.delete(numbers[0] ?? -1);
    else if (name === 'write' && numbers[0] === STDOUT)
      this.#add(call, { kind: 'said', text: call.bytes.toString() });
    else if (name === 'mkdirat') this.#made(call);
    else if (name === 'renameat' || name === 'renameat2') this.#renamed(call);
    else if (name === 'unlinkat') this.#removed(call);
    else if (name === 'mmap') refuseSharedWriting(call, this.#ownFile(call.numbers[4]));
    else if (this.#ownFile(numbers[0]) || call.paths.some((path) => this.#isOwn(path))) {
      this.#takeFileCall(call, this.#ownFile(numbers[0]));
    }
  }

  #takeFileCall(call: Call, file: OpenFile | undefined): void {
    const { name, numbers } = call;
    if (!file) throw unknown(call);
    const { inode } = file;
    if (name === 'fsync' || name === 'fdatasync') this.#add(call, { kind: 'sync', inode });
    else if (name === 'lseek') file.position = call.result;
    else if (name === 'pwrite64' || name === 'pwritev') this.#written(call, file, numbers.at(-1) ?? 0);
    else if (name === 'write' || name === 'writev') {
      this.#written(call, file, file.position);
      file.position += call.result;
    } else if (name === 'ftruncate') this.#add(call, { kind: 'truncate', inode, size: numbers[1] ?? 0 });
    else if (name !== 'fcntl') throw unknown(call);
  }

  #written(call: Call, { inode, isSynced }: OpenFile, at: number): void {
    this.#add(call, { kind: 'write', inode, isSynced, at, bytes: call.bytes.subarray(0, call.result) });
  }

  #opened(call: Call): void {
    const [path = ''] = call.paths;
    if (!this.#isOwn(path) && this.#inodes.get(path) !== PARENT) {
      this.#open.delete(call.result);
      return;
    }
    const known = this.#inodes.get(path);
    const inode = known ?? this.#inodeCount++;
    if (known === undefined) this.#name(call, path, inode);
    else if (call.text.includes('O_TRUNC')) this.#add(call, { kind: 'truncate', inode, size: 0 });
    this.#open.set(call.result, { inode, isSynced: /O_D?SYNC/.test(call.text), position: 0 });
  }

  #made(call: Call): void {
    const [path = ''] = call.paths;
    if (!this.#isOwn(path)) return;
    const inode = this.#inodeCount++;
    this.#folders.add(inode);
    this.#name(call, path, inode);
  }

  #renamed(call: Call): void {
    const [from = '', to = ''] = call.paths;
    if (!this.#isOwn(from) && !this.#isOwn(to)) return;
    const inode = this.#inodes.get(from);
    if (inode === undefined) throw unknown(call);
    for (const [path, below] of [...this.#inodes]) {
      if (path !== from && !path.startsWith(`${from}/`)) continue;
      this.#inodes.delete(path);
      this.#inodes.set(to + path.slice(from.length), below);
    }
    this.#add(call, { kind: 'names', changes: [this.#change(to, inode), this.#change(from, undefined)] });
  }

  #removed(call: Call): void {
    const [path = ''] = call.paths;
    if (!this.#isOwn(path)) return;
    this.#inodes.delete(path);
    this.#add(call, { kind: 'names', changes: [this.#change(path, undefined)] });
  }

  #name(call: Call, path: string, inode: number): void {
    this.#inodes.set(path, inode);
    this.#add(call, { kind: 'names', changes: [this.#change(path, inode)] });
  }

  #change(path: string, inode: number | undefined): NameChange {
    const folder = this.#inodes.get(dirname(path));
    if (folder === undefined) throw new Error(`${path} lies in a folder that was never made`);
    return { folder, name: basename(path), inode };
  }

  #add({ began, ended }: Call, what: WithoutSpan<Operation>): void {
    this.#operations.push({ ...what, began, ended });
  }

  #ownFile(descriptor: number | undefined): OpenFile | undefined {
    return this.#open.get(descriptor ?? -1);
  }

  #isOwn(path: string): boolean {
    return path === this.#root || path.startsWith(`${this.#root}/`);
  }
}

type WithoutSpan<T> = T extends unknown ? Omit<T, keyof Span> : never;

/**
 * Changes through a shared mapping are not traced. LMDB's lock file is one, and has no meaning after a power
 * loss.
 */
function refuseSharedWriting(call: Call, file: OpenFile | undefined): void {
  const LOCK_BYTES = 128 * 1024;
  const isWritten = call.text.includes('PROT_WRITE') && call.text.includes('MAP_SHARED');
  if (file && isWritten && (call.numbers[1] ?? 0) > LOCK_BYTES) throw unknown(call);
}

function unknown({ name, text }: Call): Error {
  return new Error(`the recorder does not know what this does: ${name}(${text.slice(0, 200)})`);
}
