// Searches the outputs of a run for texts of this machine: paths and names that another machine does not
// have. An output that contains one is right only where that text is the same.
//
// A text is found as UTF-8 and as UTF-16, and a path also with its usual escapes. In doubt it counts as
// found: that costs a miss elsewhere, and an overlooked text a wrong hit. What is compressed, encrypted or
// hashed in an output is not found.
import { digestFile, type FileDigests } from '../files/file-digest.ts';
import type { Output } from './outputs.ts';
import { isAt, type Needle, type TextPlace, TextSearch } from './text-search.ts';

/** A text of the machine. `property`: the name of what it tells, such as "host". */
export interface MachineText {
  readonly property: string;
  readonly kind: 'path' | 'name';
  readonly text: string;
}

/** The property, and the first output that contains its text. */
export type FoundTexts = ReadonlyMap<string, string>;

/** A shorter text is no sign of the machine: it occurs in any file. */
const MIN_TEXT = 6;
/**
 * Containers have their workspace in /app or /src. A shorter path, with a border on both sides, occurs by
 * chance.
 */
const MIN_WORKSPACE = 4;
/** The shortest release of a kernel is like "6.1.0". */
const MIN_RELEASE = 5;
const LEAST: Readonly<Record<string, number>> = { workspace: MIN_WORKSPACE, kernel: MIN_RELEASE };

export class MachineTextSearch {
  readonly #found = new Map<string, string>();
  readonly #search: TextSearch;
  #output = '';

  constructor(texts: readonly MachineText[]) {
    this.#search = new TextSearch(needlesFor(texts), (property) => this.#found.set(property, this.#output));
  }

  /** The same digests; each file that they are asked for is searched. */
  wrap(digests: FileDigests): FileDigests {
    const search = this.#search;
    return {
      digest: (name, stats, locate, onRead) => {
        if (search.isDone) return digests.digest(name, stats, locate, onRead);
        this.#output = name;
        let isRead = false;
        try {
          const digest = digests.digest(name, stats, locate, (bytes, isWhole) => {
            isRead = true;
            onRead?.(bytes, isWhole);
            search.add(bytes, isWhole);
          });
          // The stat index knew the digest, and does not know what the file contains.
          if (!isRead) digestFile(locate(), (bytes, isWhole) => search.add(bytes, isWhole));
          return digest;
        } finally {
          search.end();
        }
      },
    };
  }

  /** The texts found in files so far, and those in the names and link targets of these outputs. */
  found(outputs: readonly Output[]): FoundTexts {
    for (const output of outputs) {
      this.#output = output.path;
      const names = namesIn(output);
      if (names.length > 0) this.#search.add(Buffer.from(names.join('\n')), true);
    }
    return this.#found;
  }
}

/** Link targets, and the names of entries. The output's own name is declared. */
function namesIn(output: Output): string[] {
  if (output.kind !== 'directory') return output.kind === 'symlink' ? [output.target] : [];
  return output.entries.flatMap((entry) =>
    entry.kind === 'symlink' ? [`/${entry.path}`, entry.target] : [`/${entry.path}`],
  );
}

interface TextNeedle extends Needle {
  /** The same without `covers`. */
  readonly standsAlone: (at: TextPlace) => boolean;
}

/** The same list for the same texts: a search then has its tables already (text-search.ts). */
function needlesFor(texts: readonly MachineText[]): readonly Needle[] {
  const name = JSON.stringify(texts);
  if (last?.name !== name) last = { name, needles: makeNeedles(texts) };
  return last.needles;
}

let last: { readonly name: string; readonly needles: readonly Needle[] } | undefined;

function makeNeedles(texts: readonly MachineText[]): Needle[] {
  const all = texts.filter(isTelling).flatMap((text) => [...needlesOf(text)]);
  return all.map((needle) => ({
    ...needle,
    fits: (at) => needle.standsAlone(at) && !isInsideOther(needle, all, at),
  }));
}

/** A user's name inside the path of the workspace tells no more than that path does. */
function isInsideOther(needle: TextNeedle, all: readonly TextNeedle[], { bytes, start }: TextPlace): boolean {
  return all.some((other) => {
    if (other.name === needle.name || other.bytes.length <= needle.bytes.length) return false;
    for (
      let at = other.bytes.indexOf(needle.bytes);
      at >= 0;
      at = other.bytes.indexOf(needle.bytes, at + 1)
    ) {
      const place = { bytes, start: start - at, end: start - at + other.bytes.length };
      if (place.start >= 0 && isAt(other.bytes, bytes, place.start) && other.standsAlone(place)) return true;
    }
    return false;
  });
}

function isTelling({ property, text }: MachineText): boolean {
  const least = LEAST[property] ?? MIN_TEXT;
  return Buffer.byteLength(text) >= least && !COMMON.has(text.toLowerCase());
}

/** Names of users and hosts that occur in any file, or that all machines of a kind share. */
const COMMON: ReadonlySet<string> = new Set(
  `administrator anonymous alpine archlinux bitbucket buildbot builder buildkite buildkite-agent centos circleci
  codespace computer container daemon debian default deploy desktop developer docker fedora github gitlab
  gitlab-runner jenkins kubernetes laptop library localhost localhost.localdomain localdomain machine master
  module nobody nonroot package postgres production project python raspberrypi release runner server service
  source staging system target teamcity testing travis ubuntu vagrant version vscode worker workspace www-data`.split(
    /\s+/,
  ),
);

function* needlesOf({ property: name, kind, text }: MachineText): Generator<TextNeedle> {
  for (const form of kind === 'path' ? formsOfPath(text) : [text]) {
    for (const encoding of ENCODINGS) {
      const standsAlone = kind === 'path' ? pathBorders(text, encoding) : wordBorders(encoding);
      yield { name, bytes: encoding.encode(form), standsAlone, fits: standsAlone };
    }
  }
}

/** The path as programs write it: plain, and as JSON, URLs, XML, C, shells and makefiles escape it. */
function formsOfPath(path: string): ReadonlySet<string> {
  const hex = (char: string) => char.charCodeAt(0).toString(16).padStart(4, '0');
  const json = JSON.stringify(path).slice(1, -1);
  const octal = (char: string) =>
    [...Buffer.from(char)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
  return new Set([
    path,
    path.replaceAll('/', '\\/'),
    json,
    json.replaceAll('/', '\\/'),
    json.replaceAll(/[^ -~]/g, (char) => `\\u${hex(char)}`),
    json.replaceAll(/[^ -~]/g, (char) => `\\u${hex(char).toUpperCase()}`),
    json.replaceAll(/[^ -~]/gu, octal),
    encodeURI(path),
    encodeURIComponent(path),
    path.replaceAll(/[^\w/.,:@%+=~-]/gu, '\\$&'),
    path.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;'),
  ]);
}

interface Encoding {
  encode(text: string): Buffer;
  readonly unitBytes: 1 | 2;
  /** The code unit at a position; -1 outside the bytes. */
  unitAt(bytes: Uint8Array, position: number): number;
}

const UTF8: Encoding = {
  encode: (text) => Buffer.from(text),
  unitBytes: 1,
  unitAt: (bytes, at) => bytes[at] ?? -1,
};

const UTF16LE: Encoding = {
  encode: (text) => Buffer.from(text, 'utf16le'),
  unitBytes: 2,
  unitAt: (bytes, at) => pair(bytes[at + 1], bytes[at]),
};

const UTF16BE: Encoding = {
  encode: (text) => Buffer.from(text, 'utf16le').swap16(),
  unitBytes: 2,
  unitAt: (bytes, at) => pair(bytes[at], bytes[at + 1]),
};

const ENCODINGS = [UTF8, UTF16LE, UTF16BE];

function pair(high: number | undefined, low: number | undefined): number {
  return high === undefined || low === undefined ? -1 : high * 256 + low;
}

/** No letter, digit or underscore before or after: "build-7" is not in "build-71". */
function wordBorders(encoding: Encoding): (at: TextPlace) => boolean {
  return (at) => {
    const { before, after } = neighbours(at, encoding);
    return !isWord(after(0)) && (!isWord(before(0)) || isEscape(before));
  };
}

/** In "\nbuild-7" of a JSON text, the "n" is no part of the word. */
function isEscape(before: (distance: number) => number): boolean {
  return before(1) === BACKSLASH && 'bfnrt0'.includes(String.fromCharCode(before(0)));
}

/**
 * As in a text, or in a binary file. A binary file puts texts next to each other without a border, so there
 * it does not matter what follows the path.
 */
function pathBorders(path: string, encoding: Encoding): (at: TextPlace) => boolean {
  const isWhole = wholePath(path, encoding);
  const mayGoOn = encoding === UTF8 && !isShort(path);
  return (at) => isWhole(at, mayGoOn && isBinary(at.bytes));
}

/**
 * Whether an occurrence of a path in a text is that path: "/work/app" is not in "/work/app2", nor "/build" in
 * "out/build". A path of several names may follow anything, as in "-I/work/app".
 */
export function wholePath(path: string, encoding = UTF8): (at: TextPlace, mayGoOn?: boolean) => boolean {
  const isDistinct = path.lastIndexOf('/') > 0 && !isShort(path);
  return (at, mayGoOn = false) => {
    const { before, after } = neighbours(at, encoding);
    const goesOn = isWord(after(0)) || after(0) === DASH || (after(0) === DOT && isWord(after(1)));
    if (goesOn && !mayGoOn) return false;
    return isDistinct || !continuesPath(before) || isEscape(before);
  };
}

function isShort(path: string): boolean {
  return Buffer.byteLength(path) < MIN_TEXT;
}

/**
 * Whether the path before this place goes on: "out" in "out/build". But not "-I" in "-I/build", and not a
 * single character after an unprintable one: a binary file may have the path's length there.
 */
function continuesPath(before: (distance: number) => number): boolean {
  const isPart = (unit: number) => isWord(unit) || IN_PATH.includes(unit);
  if (!isPart(before(0))) return false;
  let last = 0;
  while (last < FLAG_LENGTH && isPart(before(last + 1))) last++;
  if (last === 0 && isWord(before(0)) && !isPrintable(before(1))) return false;
  return last === 0 || before(last) !== DASH;
}

function neighbours({ bytes, start, end }: TextPlace, { unitAt, unitBytes }: Encoding) {
  return {
    before: (distance: number) => unitAt(bytes, start - (distance + 1) * unitBytes),
    after: (distance: number) => unitAt(bytes, end + distance * unitBytes),
  };
}

const BACKSLASH = 0x5c;
const DASH = 0x2d;
const DOT = 0x2e;
/** The longest flag that a path follows directly, as in -isystem/build. */
const FLAG_LENGTH = 12;
/** Beside letters and digits, these before a slash are part of its path: ../ */
const IN_PATH = [...'.-~*})]<'].map((char) => char.charCodeAt(0));

function isWord(unit: number): boolean {
  return unit >= 0 && unit < 0x80 && /\w/.test(String.fromCharCode(unit));
}

function isPrintable(unit: number): boolean {
  return unit >= 0x20 && unit < 0x7f;
}

function isBinary(bytes: Uint8Array): boolean {
  return bytes.includes(0);
}
