// Parses one line of `strace -f -ttt -xx -y`. Strings are hex escapes, so no byte of a name can look like
// syntax.
//
//   line  = pid " " seconds "." micros " " event
//   event = name "(" arguments ")" " "* "= " result            a complete call
//         | name "(" arguments " <unfinished ...>"             its first half (or " <pid changed to " pid " ...>")
//         | "<... " name " resumed>" arguments ")" " "* "= " result    its second half
//         | "+++ exited with " code " +++" | "+++ killed by " signal … " +++"
//         | "+++ superseded by execve in pid " pid " +++" | "--- " signal … " ---"
import { constants } from 'node:os';
import type { ExitStatus } from '../../../hermeticity/trace/access.ts';
import { signalName } from '../../../hermeticity/trace/exit-status.ts';

export interface Call {
  readonly name: string;
  readonly arguments: readonly string[];
  /** The text after "= ", such as `3<\x2f…>`, `-1 ENOENT (…)`, `?`. */
  readonly result: string;
}

export type StraceEvent =
  | { readonly kind: 'call'; readonly call: Call }
  | { readonly kind: 'unfinished'; readonly text: string }
  | { readonly kind: 'resumed'; readonly text: string }
  | { readonly kind: 'gone'; readonly exit: ExitStatus | undefined }
  | { readonly kind: 'signal' }
  | { readonly kind: 'superseded'; readonly by: number };

export interface StraceLine {
  readonly pid: number;
  readonly seconds: number;
  readonly event: StraceEvent;
}

const LINE = /^(\d+) +(\d+\.\d+) (.*)$/;
const UNFINISHED = / <(?:unfinished|pid changed to \d+) \.\.\.>$/;
const RESUMED = /^<\.\.\. \w+ resumed>/;
const SUPERSEDED = /^\+\+\+ superseded by execve in pid (\d+) \+\+\+$/;

/** Undefined for any other line. */
export function parseLine(line: string): StraceLine | undefined {
  const [, pid, seconds, rest] = LINE.exec(line) ?? [];
  if (pid === undefined || seconds === undefined || rest === undefined) return undefined;
  const event = parseEvent(rest);
  return event && { pid: Number(pid), seconds: Number(seconds), event };
}

function parseEvent(text: string): StraceEvent | undefined {
  if (text.startsWith('+++')) {
    const by = SUPERSEDED.exec(text)?.[1];
    return by === undefined
      ? { kind: 'gone', exit: parseExit(text) }
      : { kind: 'superseded', by: Number(by) };
  }
  if (text.startsWith('---')) return { kind: 'signal' };
  if (UNFINISHED.test(text)) return { kind: 'unfinished', text: text.replace(UNFINISHED, '') };
  const resumed = RESUMED.exec(text);
  if (resumed) return { kind: 'resumed', text: text.slice(resumed[0].length) };
  const call = parseCall(text);
  return call && { kind: 'call', call };
}

const EXITED = /^\+\+\+ exited with (\d+) /;
const KILLED = /^\+\+\+ killed by (SIG\w+) /;
const REAL_TIME = /^SIGRT(?:MIN|_(\d+))$/;
const FIRST_REAL_TIME = 32;

/** strace counts real-time signals from the kernel's SIGRTMIN, 32, whatever the C library reserves. */
function parseExit(text: string): ExitStatus | undefined {
  const code = EXITED.exec(text)?.[1];
  if (code !== undefined) return { code: Number(code) };
  const name = KILLED.exec(text)?.[1] ?? '';
  const realTime = REAL_TIME.exec(name);
  if (realTime) return { signal: signalName(FIRST_REAL_TIME + Number(realTime[1] ?? 0)) };
  const known = Object.entries(constants.signals).find(([one]) => one === name);
  return known && { signal: signalName(known[1]) };
}

/** Parses a complete call: one line, or two halves joined. */
export function parseCall(text: string): Call | undefined {
  const open = text.indexOf('(');
  if (open <= 0) return undefined;
  const { parts, end } = splitArguments(text, open + 1);
  const equals = text.indexOf('= ', end);
  if (equals === -1) return undefined;
  return { name: text.slice(0, open), arguments: parts, result: text.slice(equals + 2).trim() };
}

/** Splits up to the closing ")". Commas in braces, brackets, quotes and comments do not count. */
function splitArguments(text: string, start: number): { parts: string[]; end: number } {
  const parts: string[] = [];
  let depth = 0;
  let from = start;
  let at = start;
  for (; at < text.length; at++) {
    const character = text[at];
    if (character === '"') at = text.indexOf('"', at + 1);
    else if (character === '/' && text[at + 1] === '*') at = text.indexOf('*/', at + 2) + 1;
    else if (character === '{' || character === '[' || character === '(') depth++;
    else if (depth > 0 && (character === '}' || character === ']' || character === ')')) depth--;
    else if (character === ')') break;
    else if (character === ',' && depth === 0) {
      parts.push(text.slice(from, at).trim());
      from = at + 1;
    }
    if (at < start) break;
  }
  const last = text.slice(from, at).trim();
  if (last !== '') parts.push(last);
  return { parts, end: at };
}

const HEX_STRING = /^@?"((?:\\x[0-9a-f]{2})*)"$/;

/** The bytes of a quoted argument; undefined for NULL, an address, or a string that strace cut. */
export function bytesOf(argument: string | undefined): Buffer | undefined {
  const hex = argument === undefined ? undefined : HEX_STRING.exec(argument)?.[1];
  return hex === undefined ? undefined : Buffer.from(hex.replaceAll('\\x', ''), 'hex');
}

const DESCRIPTOR = /^(?:AT_FDCWD|-?\d+)<((?:\\x[0-9a-f]{2})*)>/;

/**
 * The path that strace printed after a file descriptor or AT_FDCWD; undefined for pipes, sockets and deleted
 * files.
 */
export function pathBehind(argument: string | undefined): Buffer | undefined {
  const hex = argument === undefined ? undefined : DESCRIPTOR.exec(argument)?.[1];
  const bytes = hex === undefined ? undefined : Buffer.from(hex.replaceAll('\\x', ''), 'hex');
  return bytes?.[0] === 0x2f && !argument?.endsWith('(deleted)') ? bytes : undefined;
}

const STRINGS = /"((?:\\x[0-9a-f]{2})*)"/g;

/** All strings in a list argument, such as the argv of execve. */
export function stringsIn(argument: string | undefined): Buffer[] {
  return [...(argument ?? '').matchAll(STRINGS)].map(([, hex = '']) =>
    Buffer.from(hex.replaceAll('\\x', ''), 'hex'),
  );
}

/** The name of the errno, if the call failed. */
export function errorOf(result: string): string | undefined {
  return /^-1 (E[A-Z0-9]+)/.exec(result)?.[1];
}

/** The call's return value, -1 on failure. */
export function numberOf(result: string): number {
  return Number.parseInt(result, 10);
}
