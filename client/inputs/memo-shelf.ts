// Where memories of single actions lie: in files for the next process, or in this one's memory for a graph, which remembers
// all its steps in one file of its own (graph/memo.ts).
import { join } from 'node:path';
import { readTable, type StatTable, writeTable } from './stat-table.ts';

export interface MemoShelf {
  read(name: string, magic: string): StatTable | undefined;
  write(name: string, magic: string, table: StatTable): void;
}

export function memoFiles(folder: string): MemoShelf {
  return {
    read: (name, magic) => readTable(join(folder, name), magic),
    write: (name, magic, table) => writeTable(join(folder, name), magic, table),
  };
}

export function memosInMemory(): MemoShelf {
  const tables = new Map<string, StatTable>();
  return {
    read: (name, magic) => tables.get(magic + name),
    write: (name, magic, table) => tables.set(magic + name, table),
  };
}
