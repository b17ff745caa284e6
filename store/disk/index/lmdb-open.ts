// Opens an index with LMDB, and takes this process's slot among LMDB's readers before anything else uses it.
//
// LMDB identifies a reader by its PID: each reader locks the byte of `lock.mdb` at its PID. Two containers
// that share a store may both run as PID 1. The second process can't get the lock and must not continue,
// because closing its index would free the first one's slot. LMDB's binding would wait 10 s for the lock and
// fail inside a read. The kernel releases the lock when the process ends.
//
// The last process that closes an index destroys LMDB's mutexes. A process that opens it at that moment gets
// the destroyed mutexes, and so does everybody who comes while it has the index open (docs/decisions/0280).
// So such an index is closed again at once, and opened anew until a process is alone and makes new mutexes.
import { nativeAddon, open, type RootDatabase, type RootDatabaseOptions } from 'lmdb';
import { AssayError } from '../../../core/errors.ts';
import { STORE } from '../../limits.ts';

type Options = RootDatabaseOptions & { readonly path: string };

interface Env {
  close(): void;
}

/** Missing from lmdb's types. */
declare module 'lmdb' {
  const nativeAddon: {
    readonly Env: { readonly prototype: Env };
    readonly Txn: new (env: Env, flags: number) => { abort(): void };
  };
}

const READ_ONLY = 0x20000;
/** EAGAIN or EACCES, depending on the kernel: another process has the lock. */
const IS_LOCKED = new Set<unknown>([11, 13]);
/** EINVAL: the mutex is destroyed. */
const IS_DESTROYED = 22;

class DestroyedMutex extends Error {}

/** LMDB keeps the slot until the index is closed. Throws at once if another process has it. */
export function openLmdb(options: Options): RootDatabase<Buffer, Buffer> {
  const until = performance.now() + STORE.openWaitMs;
  for (let longest = 1; ; longest = Math.min(2 * longest, STORE.openPauseMs)) {
    try {
      return openOnce(options);
    } catch (error) {
      if (!(error instanceof DestroyedMutex) || performance.now() > until) throw error;
    }
    // At random, so that two processes do not meet again and again.
    waitFor(1 + Math.random() * longest);
  }
}

/** The binding sets `path` when it has opened the files, before its first transaction. */
function openOnce(options: Options): RootDatabase<Buffer, Buffer> {
  const { prototype } = nativeAddon.Env;
  Object.defineProperty(prototype, 'path', {
    configurable: true,
    set(this: Env, value: string) {
      takeSlotOrClose(this, value);
      Object.defineProperty(this, 'path', { value });
    },
  });
  try {
    return open<Buffer, Buffer>(options);
  } finally {
    Reflect.deleteProperty(prototype, 'path');
  }
}

function takeSlotOrClose(env: Env, folder: string): void {
  try {
    new nativeAddon.Txn(env, READ_ONLY).abort();
  } catch (cause) {
    env.close();
    const code: unknown = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    if (code === IS_DESTROYED)
      throw new DestroyedMutex(`the lock of ${folder} is being made anew`, { cause });
    if (!IS_LOCKED.has(code)) throw cause;
    throw new AssayError(
      'ASSAY_STORE_SAME_PID',
      `another process with the PID ${process.pid}, in another container, has ${folder} open`,
      { cause },
    );
  }
}

function waitFor(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}
