// The files of the write log: log/writes-2026-11.jsonl, then writes-2026-11.0002.jsonl when that one is large.
// Guarantees:
// - A file is only appended to. Several processes may append: each batch is one write with O_APPEND, which
//   Linux does not mix with another.
// - All files together stay below STORE.logBytes, give or take one part for each process: the oldest file is
//   removed first.
import { mkdirSync, readdirSync, statSync, unlinkSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { isSystemError } from '../../core/errors.ts';
import { STORE } from '../limits.ts';

/** The log of the store in `directory`. It lies beside the folder of the format version. */
export function logFolder(directory: string): string {
  return join(directory, 'log');
}

interface LogLimits {
  readonly logBytes: number;
  readonly logPartBytes: number;
}

const NAME = /^writes-(\d{4}-\d{2})(?:\.(\d{4,}))?\.jsonl$/;

interface Part {
  readonly month: string;
  readonly number: number;
}

export class LogFiles {
  readonly #folder: string;
  readonly #limits: LogLimits;
  #current: { readonly month: string; readonly file: FileHandle } | undefined;
  /** The file ends inside a line: a process died while it wrote, or the disk was full. */
  #isTorn = false;

  constructor(folder: string, limits: LogLimits = STORE) {
    this.#folder = folder;
    this.#limits = limits;
  }

  /** Appends whole lines in one write. Throws if not all of them are written. */
  async append(lines: string, now: number): Promise<void> {
    try {
      const file = await this.#open(new Date(now).toISOString().slice(0, 'yyyy-mm'.length));
      const bytes = Buffer.from(this.#isTorn ? `\n${lines}` : lines);
      const { bytesWritten } = await file.write(bytes);
      if (bytesWritten < bytes.length) throw new Error('the disk has taken only some of the lines');
      this.#isTorn = false;
    } catch (error) {
      await this.close().catch(() => {});
      throw error;
    }
  }

  async close(): Promise<void> {
    const file = this.#current?.file;
    this.#current = undefined;
    await file?.close();
  }

  async #open(month: string): Promise<FileHandle> {
    if (this.#current) {
      const { size, nlink } = await this.#current.file.stat();
      const isUsable = this.#current.month === month && size < this.#limits.logPartBytes && nlink > 0;
      if (isUsable) return this.#current.file;
      await this.close();
    }
    this.#makeFolder();
    const parts = this.#parts();
    this.#removeOldest(parts);
    const file = await open(join(this.#folder, nameOf(this.#nextOf(month, parts))), 'a+', 0o600);
    this.#current = { month, file };
    this.#isTorn = await endsInsideLine(file);
    return file;
  }

  /** Its parent is the store's folder. */
  #makeFolder(): void {
    try {
      mkdirSync(this.#folder);
    } catch (error) {
      if (!isSystemError(error, 'EEXIST')) throw error;
    }
  }

  /** The last part of the month, or a new one after it if that is full. */
  #nextOf(month: string, parts: readonly Part[]): Part {
    const last = parts.findLast((part) => part.month === month);
    if (!last) return { month, number: 1 };
    const isFull = this.#sizeOf(last) >= this.#limits.logPartBytes;
    return isFull ? { month, number: last.number + 1 } : last;
  }

  #removeOldest(parts: readonly Part[]): void {
    const sizes = parts.map((part) => this.#sizeOf(part));
    let total = sizes.reduce((sum, size) => sum + size, 0) + this.#limits.logPartBytes;
    for (const [at, part] of parts.entries()) {
      if (total <= this.#limits.logBytes) return;
      total -= sizes[at] ?? 0;
      this.#ifThere(() => unlinkSync(join(this.#folder, nameOf(part))));
    }
  }

  /** In the order of time. */
  #parts(): Part[] {
    return readdirSync(this.#folder)
      .flatMap((name) => {
        const [, month, number = '1'] = NAME.exec(name) ?? [];
        return month === undefined ? [] : [{ month, number: Number(number) }];
      })
      .sort((a, b) => (a.month === b.month ? a.number - b.number : a.month < b.month ? -1 : 1));
  }

  #sizeOf(part: Part): number {
    return this.#ifThere(() => statSync(join(this.#folder, nameOf(part))).size) ?? 0;
  }

  /** Another process may remove a file at the same time. */
  #ifThere<T>(act: () => T): T | undefined {
    try {
      return act();
    } catch (error) {
      if (isSystemError(error, 'ENOENT')) return undefined;
      throw error;
    }
  }
}

const NEWLINE = 0x0a;

async function endsInsideLine(file: FileHandle): Promise<boolean> {
  const { size } = await file.stat();
  if (size === 0) return false;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] !== NEWLINE;
}

function nameOf({ month, number }: Part): string {
  return `writes-${month}${number === 1 ? '' : `.${String(number).padStart(4, '0')}`}.jsonl`;
}
