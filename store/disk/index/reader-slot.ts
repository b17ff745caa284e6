// Takes this process's slot among LMDB's readers when an index is opened.
//
// LMDB identifies a reader by its PID: each reader locks the byte of `lock.mdb` at its PID. Two containers
// that share a store may both run as PID 1. The second process can't get the lock and must not continue,
// because closing its index would free the first one's slot. LMDB's binding would wait 10 s for the lock and
// fail inside a read. The kernel releases the lock when the process ends.
import { nativeAddon, type RootDatabase } from 'lmdb';
import { AssayError } from '../../../core/errors.ts';

/** Missing from lmdb's types. */
declare module 'lmdb' {
  const nativeAddon: {
    readonly Txn: new (env: unknown, flags: number) => { abort(): void };
  };
  interface RootDatabase {
    readonly env: unknown;
  }
}

const READ_ONLY = 0x20000;
/** EAGAIN or EACCES, depending on the kernel: another process has the lock. */
const IS_LOCKED = new Set<unknown>([11, 13]);

/** LMDB keeps the slot until the index is closed. Throws at once if another process has it. */
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
