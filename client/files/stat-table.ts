// A file with the stats of many paths: four numbers for each name, and extra bytes that belong to the caller.
// A torn, damaged or foreign file reads as missing: the table only saves work.
//
// Times are milliseconds as doubles, exact to a quarter of a microsecond; BigInts would take twice the time.
// Recorded stats are settled (settled.ts), so a later change differs by more than that.
//
//   file = magic:16  count:u32  names-length:u32  (size mtime ctime inode):4×f64 × count
//          names: utf-8, joined by NUL  extra: the rest  checksum:u32 of all before
import type { Stats } from 'node:fs';
import { dirname } from 'node:path';
import { replaceFile } from '../../system/files/replace-file.ts';
import { makeClientFolder, PRIVATE_FILE } from '../local-store/client-folder.ts';
import { readPrivate } from '../local-store/private-file.ts';
import { checksum } from './checksum.ts';

export interface StatTable {
  readonly names: readonly string[];
  /** Four for each name: size, mtime, ctime, inode. */
  readonly numbers: Float64Array;
  readonly extra: Buffer;
}

const MAGIC_BYTES = 16;
const HEADER_BYTES = MAGIC_BYTES + 8;
const CHECKSUM_BYTES = 4;
const COLUMNS = 4;

/** The row of a path at which nothing is. */
export const ABSENT: StatRow = [-1, -1, -1, -1];

export function isAbsent([size]: StatRow): boolean {
  return size === ABSENT[0];
}

export type StatRow = readonly [number, number, number, number];

export function sameRow(a: StatRow | undefined, b: StatRow | undefined): boolean {
  return a !== undefined && b !== undefined && a.every((value, column) => value === b[column]);
}

export function rowOf(stats: Stats | undefined): StatRow {
  return stats ? [stats.size, stats.mtimeMs, stats.ctimeMs, stats.ino] : ABSENT;
}

export function rowMatches(table: StatTable, row: number, stats: Stats | undefined): boolean {
  const { numbers } = table;
  const at = row * COLUMNS;
  if (!stats) return numbers[at] === -1;
  return (
    numbers[at] === stats.size &&
    numbers[at + 1] === stats.mtimeMs &&
    numbers[at + 2] === stats.ctimeMs &&
    numbers[at + 3] === stats.ino
  );
}

export function rowAt({ numbers }: StatTable, row: number): StatRow {
  const [size = 0, mtime = 0, ctime = 0, inode = 0] = numbers.subarray(row * COLUMNS, (row + 1) * COLUMNS);
  return [size, mtime, ctime, inode];
}

export function tableOf(rows: ReadonlyMap<string, StatRow>, extra: Buffer): StatTable {
  const numbers = new Float64Array(rows.size * COLUMNS);
  let at = 0;
  for (const row of rows.values()) {
    numbers.set(row, at);
    at += COLUMNS;
  }
  return { names: [...rows.keys()], numbers, extra };
}

export function readTable(file: string, magic: string): StatTable | undefined {
  let bytes: Buffer;
  try {
    bytes = readPrivate(file);
  } catch {
    return undefined;
  }
  if (bytes.length < HEADER_BYTES + CHECKSUM_BYTES) return undefined;
  const body = bytes.subarray(0, bytes.length - CHECKSUM_BYTES);
  const foreign = !body.subarray(0, MAGIC_BYTES).equals(padded(magic));
  if (foreign || checksum(body) !== bytes.readUInt32LE(body.length)) return undefined;
  const count = body.readUInt32LE(MAGIC_BYTES);
  const namesAt = HEADER_BYTES + count * COLUMNS * 8;
  const extraAt = namesAt + body.readUInt32LE(MAGIC_BYTES + 4);
  return {
    numbers: new Float64Array(new Uint8Array(body.subarray(HEADER_BYTES, namesAt)).buffer),
    names: count === 0 ? [] : body.toString('utf8', namesAt, extraAt).split('\0'),
    extra: body.subarray(extraAt),
  };
}

/** An error is ignored: the next run does the work again. */
export function writeTable(file: string, magic: string, table: StatTable): void {
  const names = Buffer.from(table.names.join('\0'));
  const header = Buffer.alloc(HEADER_BYTES);
  padded(magic).copy(header);
  header.writeUInt32LE(table.names.length, MAGIC_BYTES);
  header.writeUInt32LE(names.length, MAGIC_BYTES + 4);
  const body = Buffer.concat([header, Buffer.from(table.numbers.buffer), names, table.extra]);
  const end = Buffer.alloc(CHECKSUM_BYTES);
  end.writeUInt32LE(checksum(body));
  try {
    makeClientFolder(dirname(file));
    replaceFile(file, Buffer.concat([body, end]), PRIVATE_FILE.mode);
  } catch {
    // The file is as it was.
  }
}

function padded(magic: string): Buffer {
  const bytes = Buffer.alloc(MAGIC_BYTES);
  bytes.write(magic);
  return bytes;
}
