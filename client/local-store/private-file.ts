// Reads and appends to files of the client folder, and never waits: what lies there may be a pipe.
// A pipe without a writer is empty. One without a reader refuses what is appended.
import { appendFileSync, closeSync, constants, openSync, readFileSync } from 'node:fs';
import { PRIVATE_FILE } from './client-folder.ts';

const READ = constants.O_RDONLY | constants.O_NONBLOCK;
const APPEND = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;

export function readPrivate(file: string): Buffer {
  return withFile(file, READ, (descriptor) => readFileSync(descriptor));
}

export function appendPrivate(file: string, text: string): void {
  withFile(file, APPEND, (descriptor) => appendFileSync(descriptor, text));
}

function withFile<T>(file: string, flags: number, use: (descriptor: number) => T): T {
  const descriptor = openSync(file, flags, PRIVATE_FILE.mode);
  try {
    return use(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
