// Describes the first difference of two files, so that a person sees what kind of value differs.
import { closeSync, lstatSync, openSync, readlinkSync, readSync } from 'node:fs';
import { REPRODUCE } from '../limits.ts';

export interface Difference {
  /** Offset of the first byte that differs; undefined if something else than content differs. */
  readonly offset?: number;
  /**
   * Start of the word that contains this byte, in the first file: two offsets in one word are one difference.
   */
  readonly wordOffset?: number;
  readonly description: string;
}

/** How much context is shown. */
const BEFORE = 24;
const AFTER = 40;
/** In a binary file, fewer readable bytes than this are an accident. */
const SHORTEST_TEXT = 4;
const RAW = 8;
const NEWLINE = 0x0a;

/** `hidden`: do not show the values, which may be secret. */
export function differenceBetween(a: string | Buffer, b: string | Buffer, hidden: boolean): Difference {
  const [one, other] = [kindOf(a), kindOf(b)];
  if (one === undefined || other === undefined) return { description: 'is missing in one of the runs' };
  if (one !== other) return { description: `is a ${one} in one run and a ${other} in another` };
  if (one === 'link') return linkDifference(a, b, hidden);
  if (one !== 'file') return { description: 'is not the same in every run' };
  return withFiles(a, b, (first, second) => fileDifference(first, second, hidden));
}

/** The same for two buffers. */
export function bufferDifference(a: Buffer, b: Buffer, hidden: boolean): Difference {
  const shared = Math.min(a.length, b.length);
  let offset = 0;
  while (offset < shared && a[offset] === b[offset]) offset++;
  return describe(offset, around(a, offset), around(b, offset), hidden);
}

function kindOf(path: string | Buffer): string | undefined {
  const status = lstatSync(path, { throwIfNoEntry: false });
  if (status === undefined) return undefined;
  if (status.isSymbolicLink()) return 'link';
  if (status.isDirectory()) return 'folder';
  return status.isFile() ? 'file' : 'special file';
}

function linkDifference(a: string | Buffer, b: string | Buffer, hidden: boolean): Difference {
  return bufferDifference(readlinkSync(a, 'buffer'), readlinkSync(b, 'buffer'), hidden);
}

function withFiles<T>(a: string | Buffer, b: string | Buffer, work: (a: number, b: number) => T): T {
  const first = openSync(a, 'r');
  try {
    const second = openSync(b, 'r');
    try {
      return work(first, second);
    } finally {
      closeSync(second);
    }
  } finally {
    closeSync(first);
  }
}

function fileDifference(a: number, b: number, hidden: boolean): Difference {
  const offset = firstDifference(a, b);
  if (offset === undefined) return { description: 'is executable in one run and not in another' };
  const [one, other] = [window(a, offset), window(b, offset)];
  const difference = describe(offset, one, other, hidden);
  const text = hidden || (one.isText && other.isText) ? undefined : textDifference(a, b);
  return text === undefined
    ? difference
    : { ...difference, description: `${difference.description}, ${text}` };
}

/** How much of a binary file is searched for text. */
const SEARCHED = 16 * REPRODUCE.readBytes;
const TEXT = /[\x20-\x7e]{6,}/g;

/**
 * In a binary file the first differing byte is often a length or a hash; the first differing text says more.
 */
function textDifference(a: number, b: number): string | undefined {
  const texts = (file: number) => {
    const bytes = Buffer.alloc(SEARCHED);
    return bytes.toString('latin1', 0, readSync(file, bytes, 0, SEARCHED, 0)).match(TEXT) ?? [];
  };
  const [ours, theirs] = [texts(a), texts(b)];
  const at = ours.findIndex((text, index) => text !== theirs[index]);
  const [one, other] = [ours[at], theirs[at]];
  if (one === undefined || other === undefined) return undefined;
  const short = (text: string) => JSON.stringify(text.length > AFTER ? `${text.slice(0, AFTER)}…` : text);
  return `first in the text ${short(one)} and ${short(other)}`;
}

function firstDifference(a: number, b: number): number | undefined {
  const [one, other] = [Buffer.allocUnsafe(REPRODUCE.readBytes), Buffer.allocUnsafe(REPRODUCE.readBytes)];
  for (let base = 0; ; base += REPRODUCE.readBytes) {
    const [first, second] = [
      readSync(a, one, 0, one.length, base),
      readSync(b, other, 0, other.length, base),
    ];
    const shared = Math.min(first, second);
    for (let at = 0; at < shared; at++) if (one[at] !== other[at]) return base + at;
    if (first !== second) return base + shared;
    if (first === 0) return undefined;
  }
}

interface Window {
  readonly bytes: Buffer;
  /** Index of the first byte that differs. */
  readonly at: number;
  readonly isText: boolean;
  /** The bytes from there on, if there is no readable text. */
  readonly raw: Buffer;
  readonly cutBefore: boolean;
  readonly cutAfter: boolean;
}

function window(file: number, offset: number): Window {
  const start = Math.max(0, offset - BEFORE);
  const bytes = Buffer.alloc(offset - start + AFTER + 1);
  const got = readSync(file, bytes, 0, bytes.length, start);
  return clip(bytes.subarray(0, got), offset - start, start > 0);
}

function around(bytes: Buffer, offset: number): Window {
  const start = Math.max(0, offset - BEFORE);
  return clip(bytes.subarray(start, offset + AFTER + 1), offset - start, start > 0);
}

/** The readable text around the byte: to the ends of the line, or of the text in a binary file. */
function clip(bytes: Buffer, at: number, cut: boolean): Window {
  const isReadable = bytes.toString('utf8').includes('\ufffd') ? isAscii : isCharacter;
  let [start, end] = [at, at];
  while (start > 0 && isReadable(bytes[start - 1])) start--;
  while (end < bytes.length && end < at + AFTER && isReadable(bytes[end])) end++;
  return {
    bytes: bytes.subarray(start, end),
    at: at - start,
    isText: end - start >= SHORTEST_TEXT || end === bytes.length || bytes[end] === NEWLINE,
    raw: bytes.subarray(at, at + RAW),
    cutBefore: cut && start === 0,
    cutAfter: end === at + AFTER && end < bytes.length,
  };
}

function describe(offset: number, a: Window, b: Window, hidden: boolean): Difference {
  const what = hidden ? '' : `: ${shown(a)} and ${shown(b)}`;
  return { offset, wordOffset: offset - wordBefore(a), description: `differs at byte ${offset}${what}` };
}

function wordBefore({ bytes, at }: Window): number {
  const before = bytes.subarray(0, at).toString('latin1');
  return /[0-9A-Za-z]*$/.exec(before)?.[0].length ?? 0;
}

function shown({ bytes, isText, raw, cutBefore, cutAfter }: Window): string {
  const text = bytes.toString('utf8');
  if (!isText || text.includes('\ufffd')) return `<${raw.toString('hex')}>`;
  return `${cutBefore ? '…' : ''}${JSON.stringify(text)}${cutAfter ? '…' : ''}`;
}

function isCharacter(byte: number | undefined): boolean {
  return byte !== undefined && (byte >= 0x20 || byte === 0x09) && byte !== 0x7f;
}

function isAscii(byte: number | undefined): boolean {
  return isCharacter(byte) && (byte ?? 0) < 0x80;
}
