// Finds the files that the kernel reads to start a program: a script's interpreter, a binary's loader.
import { closeSync, openSync, readSync } from 'node:fs';

const SCRIPT_LINE_BYTES = 256;
const ELF64_HEADER_BYTES = 64;
const PROGRAM_HEADER_BYTES = 56;
const MAX_PROGRAM_HEADERS = 64;
const PT_INTERP = 3;
const MAX_LOADER_BYTES = 4096;

/** The path as written in the file; undefined for a static binary or an unreadable file. */
export function interpreterOf(path: Buffer): Buffer | undefined {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    return undefined;
  }
  try {
    const start = readAt(file, 0, SCRIPT_LINE_BYTES);
    return scriptInterpreter(start) ?? binaryLoader(file, start);
  } catch {
    return undefined;
  } finally {
    closeSync(file);
  }
}

function scriptInterpreter(start: Buffer): Buffer | undefined {
  const words = /^#![ \t]*([^ \t\n\0]+)/.exec(start.toString('latin1'));
  return words?.[1] === undefined ? undefined : Buffer.from(words[1], 'latin1');
}

function binaryLoader(file: number, start: Buffer): Buffer | undefined {
  const isElf64 =
    start.length >= ELF64_HEADER_BYTES && start.toString('latin1', 1, 4) === 'ELF' && start[4] === 2;
  if (!isElf64 || start.readUInt16LE(54) !== PROGRAM_HEADER_BYTES) return undefined;
  const table = Number(start.readBigUInt64LE(32));
  const count = Math.min(start.readUInt16LE(56), MAX_PROGRAM_HEADERS);
  for (let index = 0; index < count; index++) {
    const header = readAt(file, table + index * PROGRAM_HEADER_BYTES, PROGRAM_HEADER_BYTES);
    if (header.length < PROGRAM_HEADER_BYTES || header.readUInt32LE(0) !== PT_INTERP) continue;
    const size = Math.min(Number(header.readBigUInt64LE(32)), MAX_LOADER_BYTES);
    const text = readAt(file, Number(header.readBigUInt64LE(8)), size);
    const nul = text.indexOf(0);
    return nul === -1 ? text : text.subarray(0, nul);
  }
  return undefined;
}

function readAt(file: number, position: number, length: number): Buffer {
  const buffer = Buffer.alloc(length);
  return buffer.subarray(0, readSync(file, buffer, 0, length, position));
}
