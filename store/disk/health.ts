// The health of a store on disk: one line that says why it can't be used now.
// Guarantee: after a failed write it is a fault until a write of its own succeeds. access() and statfs() don't
// see every fault: a file system that stops after an error (emergency_ro) still looks writable.
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { AssayError, type ErrorCode, isSystemError } from '../../core/errors.ts';
import { nodeCrypto } from '../../core/sha256.ts';
import { removeFile } from '../../system/files/calls.ts';
import { STORE } from '../limits.ts';
import { StagingFile } from './files/staging-file.ts';
import { faultOf } from './fs/faults.ts';
import { freeBytes } from './fs/free-space.ts';
import type { Layout } from './fs/layout.ts';
import type { Index } from './index/index.ts';

const READ_ONLY = 'the disk under the store is read-only';
const FULL = 'the disk under the store is full';
/** LMDB's code for EROFS. */
const LMDB_READ_ONLY = 30;
const OWN_FAULTS: ReadonlySet<ErrorCode> = new Set(['ASSAY_STORE_FAULT', 'ASSAY_DISK_FULL']);

export class Health {
  readonly #layout: Layout;
  readonly #index: Index;
  /** Why the last write failed. Undefined if a probe has succeeded since. */
  #failure: string | undefined;
  #probe: Promise<void> | undefined;
  #probedAt = Number.NEGATIVE_INFINITY;

  constructor(layout: Layout, index: Index) {
    this.#layout = layout;
    this.#index = index;
  }

  /** The same write, whose failures are remembered. */
  watched<A extends unknown[], T>(write: (...args: A) => Promise<T>): (...args: A) => Promise<T> {
    return (...args) => {
      const written = write(...args);
      written.catch((error: unknown) => this.#remember(error));
      return written;
    };
  }

  #remember(error: unknown): void {
    if (error instanceof AssayError && OWN_FAULTS.has(error.code)) this.#failure = reasonOf(error);
  }

  /** Names no folder, because every client may read it. Undefined if no fault is known. */
  async fault(isWritten: boolean): Promise<string | undefined> {
    const visible = this.#visibleFault(isWritten);
    if (visible !== undefined || !isWritten || this.#failure === undefined) return visible;
    await this.#probeSoon();
    return this.#failure;
  }

  #visibleFault(isWritten: boolean): string | undefined {
    try {
      if (!this.#index.tables.isSameFile) return 'the store was removed or replaced while it was in use';
      return isWritten ? writeFault(this.#layout) : undefined;
    } catch (error) {
      if (isSystemError(error, 'EROFS')) return READ_ONLY;
      if (isSystemError(error, 'EACCES')) return 'the server may not write to the store';
      return 'the store can’t be reached';
    }
  }

  /** At most one probe in STORE.probeWriteMs. Waits for it no longer than that: a disk may never answer. */
  async #probeSoon(): Promise<void> {
    const now = performance.now();
    if (!this.#probe && now - this.#probedAt >= STORE.probeWriteMs) {
      this.#probedAt = now;
      this.#probe = this.#write().finally(() => {
        this.#probe = undefined;
      });
    }
    if (!this.#probe) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, STORE.probeWriteMs);
    await Promise.race([this.#probe, promise]);
    clearTimeout(timer);
  }

  /** Writes as a put does: a file in staging, then a commit of the index. */
  async #write(): Promise<void> {
    const path = join(this.#layout.staging, nodeCrypto().randomUUID());
    try {
      const file = await StagingFile.create(path, undefined);
      try {
        await file.append(Buffer.from('probe'));
        await file.sync();
      } finally {
        await file.end();
        await removeFile(path);
      }
      await this.#index.probe();
      this.#failure = undefined;
    } catch (error) {
      this.#failure = reasonOf(faultOf('writing a probe', error));
    }
  }
}

function writeFault({ index, staging }: Layout): string | undefined {
  for (const folder of [index, staging]) accessSync(folder, constants.W_OK);
  return freeBytes(index) < STORE.minFreeBytes + STORE.commitBytes ? FULL : undefined;
}

function reasonOf({ code, cause }: AssayError): string {
  const system = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  if (system === 'EROFS' || system === LMDB_READ_ONLY) return READ_ONLY;
  if (code === 'ASSAY_DISK_FULL') return FULL;
  return 'the last write to the store failed';
}
