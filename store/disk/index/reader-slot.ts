// This process's place among LMDB's readers, taken as soon as an index is opened.
//
// LMDB tells readers apart by their PID: each holds a lock on the byte of `lock.mdb` that its PID says. Two containers that
// share a store may both run their process as PID 1. The second one can't have the lock, and must not go on: closing its
// index would take the first one's place away. LMDB's binding waits 10 s for the lock, then fails in the middle of a read.
// The kernel lets go of the lock when its process ends, however it ends.
import { nativeAddon, type RootDatabase } from 'lmdb';
import { AssayError } from '../../../core/errors.ts';

/** Left out by the types of lmdb. */
declare module 'lmdb' {
  const nativeAddon: {
    readonly Txn: new (env: unknown, flags: number) => { abort(): void };
  };
  interface RootDatabase {
    readonly env: unknown;
  }
}

const READ_ONLY = 0x20000;
/** EAGAIN or EACCES, as the kernel likes: somebody else has the lock. */
const IS_LOCKED = new Set<unknown>([11, 13]);

/** LMDB keeps it until the index is closed. Refused at once if another process has it. */
export function takeReaderSlot(root: RootDatabase<Buffer, Buffer>, folder: string): void {
  try {
    new nativeAddon.Txn(root.env, READ_ONLY).abort();
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && IS_LOCKED.has(cause.code))) throw cause;
    throw new AssayError(
      'ASSAY_STORE_SAME_PID',
      `another process with the PID ${process.pid}, in another container, has ${folder} open`,
      { cause },
    );
  }
}
