// The token for the remote. It is taken out of this process's environment before any command runs.
// Afterwards no child process inherits it, and /proc/PID/environ of this process does not show it.
//
// The kernel shows the environment block that the process was started with, whatever becomes of its variables. So
// the bytes of that block are overwritten, through /proc/self/mem, which needs no right and no native code.
// A shell above this process may hold the token too, and root reads all memory: docs/TRUST.md#secrets.
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

const TOKEN = 'ASSAY_TOKEN';
/** May have a password in it. Steps may declare it, so it stays a variable of this process. */
const ADDRESS = 'ASSAY_REMOTE';

let token: string | undefined;

/** Called at the start. */
export function takeToken(): void {
  const { [TOKEN]: found, [ADDRESS]: address } = process.env;
  const hasPassword = address?.includes('@') === true;
  if (found === undefined && !hasPassword) return;
  token = found ?? token;
  delete process.env[TOKEN];
  if (hasPassword) delete process.env[ADDRESS];
  overwrite(hasPassword ? [TOKEN, ADDRESS] : [TOKEN]);
  if (hasPassword) process.env[ADDRESS] = address;
}

/** ASSAY_TOKEN, as the caller set it. A program that uses Assay as a library keeps its variable. */
export function remoteToken(): string | undefined {
  return token ?? process.env[TOKEN];
}

/** Whether a command could still read the token of this process. */
export function isTokenVisible(): boolean {
  try {
    return entriesOf(readFileSync('/proc/self/environ'), [TOKEN]).length > 0;
  } catch {
    return false;
  }
}

/** A process without /proc, or with one that is read-only, goes on: `assay doctor` tells about it. */
function overwrite(names: readonly string[]): void {
  try {
    const block = readFileSync('/proc/self/environ');
    const start = startOfBlock();
    const memory = openSync('/proc/self/mem', 'r+');
    try {
      for (const { at, length } of entriesOf(block, names))
        writeSync(memory, Buffer.alloc(length), 0, length, start + at);
    } finally {
      closeSync(memory);
    }
  } catch {
    // The next command would see it.
  }
}

/** env_start, the 50th field of /proc/self/stat. The second field is a name in brackets, with any character in it. */
function startOfBlock(): number {
  const stat = readFileSync('/proc/self/stat', 'latin1');
  const [start] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(47);
  return Number(start);
}

interface BlockEntry {
  readonly at: number;
  readonly length: number;
}

function entriesOf(block: Buffer, names: readonly string[]): BlockEntry[] {
  const found: BlockEntry[] = [];
  for (let at = 0; at < block.length; ) {
    const end = block.indexOf(0, at);
    const length = (end === -1 ? block.length : end) - at;
    const entry = block.toString('latin1', at, at + length);
    if (names.some((name) => entry.startsWith(`${name}=`))) found.push({ at, length });
    at += length + 1;
  }
  return found;
}
