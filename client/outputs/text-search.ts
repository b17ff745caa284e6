// Searches files for many texts at once, while the files are read in pieces for their digests.
// Finds each text at any position, also across two pieces. Costs about as much as copying the bytes.
//
// A text of 7 bytes or more covers a whole aligned word of 4 bytes at every position: at the offset 0, 1, 2
// or 3 of the text, or 4, 8, … later. So the search looks at aligned words only, and nearly all of them pass
// the filter (word-filter.ts). Decision 0273 has the measurements.
import { type Wanted, WORD, WordFilter } from './word-filter.ts';

export interface Needle {
  /** What is found. Several needles may have the same name; the search ends for all of them at once. */
  readonly name: string;
  readonly bytes: Buffer;
  /** False if the occurrence is part of something else, such as a longer word. */
  fits(at: TextPlace): boolean;
}

/**
 * An occurrence: bytes[start] to bytes[end - 1]. What the file has before and after it is there too, at least
 * CONTEXT bytes more than the longest needle has.
 */
export interface TextPlace {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

const CONTEXT = 16;

/** A shorter text does not cover an aligned word at every position. */
const MIN_WHOLE = 2 * WORD - 1;
/** A text that lacks one byte for that is in the table with each value of the next byte. */
const MIN_PARTIAL = MIN_WHOLE - 1;

interface Candidate {
  readonly needle: Needle;
  /** Where the word stands in the text. */
  readonly offset: number;
}

export class TextSearch {
  readonly #onFound: (name: string) => void;
  readonly #context: number;
  /**
   * An occurrence that is cut by the end of a piece, its context, and once more for one within the context.
   */
  readonly #reach: number;
  #needles: readonly Needle[];
  #tables: Tables;
  /** What the next piece needs of those before: enough for an occurrence and its context. */
  #tail = Buffer.alloc(0);
  /** How much of the file was in the pieces before. */
  #size = 0;

  constructor(needles: readonly Needle[], onFound: (name: string) => void) {
    this.#onFound = onFound;
    this.#needles = needles;
    this.#tables = tablesOf(needles);
    const longest = Math.max(0, ...needles.map(({ bytes }) => bytes.length));
    this.#context = CONTEXT + longest;
    this.#reach = 2 * this.#context + longest;
  }

  /** Everything was found, or there is nothing to find. */
  get isDone(): boolean {
    return this.#needles.length === 0;
  }

  /** The next piece of a file. `isWhole`: it is the whole file. */
  add(piece: Buffer, isWhole: boolean): void {
    if (this.isDone) return;
    if (isWhole) {
      this.#search(piece, true, true);
      return;
    }
    const isFirst = this.#size === 0;
    if (!isFirst) {
      const border = Buffer.concat([this.#tail, piece.subarray(0, this.#reach)]);
      this.#search(border, this.#tailIsStart, false);
    }
    this.#search(piece, isFirst, false);
    this.#keepTail(piece);
  }

  /** The file ends here, or reading it failed. The next piece is of another file. */
  end(): void {
    if (this.#size === 0) return;
    if (!this.isDone) this.#search(this.#tail, this.#tailIsStart, true);
    this.#tail = Buffer.alloc(0);
    this.#size = 0;
  }

  get #tailIsStart(): boolean {
    return this.#size === this.#tail.length;
  }

  #keepTail(piece: Buffer): void {
    const joined = piece.length >= this.#reach ? piece : Buffer.concat([this.#tail, piece]);
    this.#tail = Buffer.from(joined.subarray(Math.max(0, joined.length - this.#reach)));
    this.#size += piece.length;
  }

  /** Occurrences whose context is not complete are left to the border between two pieces. */
  #search(bytes: Buffer, isStart: boolean, isEnd: boolean): void {
    const from = isStart ? 0 : this.#context;
    const to = isEnd ? bytes.length : bytes.length - this.#context;
    this.#searchWords(bytes, from, to);
    for (const needle of this.#tables.short) {
      for (let at = bytes.indexOf(needle.bytes); at >= 0; at = bytes.indexOf(needle.bytes, at + 1))
        if (this.#judge(needle, bytes, at, from, to)) break;
    }
  }

  #searchWords(bytes: Buffer, from: number, to: number): void {
    this.#tables.filter.search(bytes, (start, end) => {
      for (let at = start; at < end; at += WORD) {
        for (const { needle, offset } of this.#tables.candidates.get(wordAt(bytes, at)) ?? [])
          this.#judge(needle, bytes, at - offset, from, to);
      }
    });
  }

  #judge(needle: Needle, bytes: Buffer, start: number, from: number, to: number): boolean {
    const end = start + needle.bytes.length;
    if (start < from || end > to || !isAt(needle.bytes, bytes, start)) return false;
    if (!needle.fits({ bytes, start, end })) return false;
    if (!this.#needles.includes(needle)) return true;
    this.#needles = this.#needles.filter(({ name }) => name !== needle.name);
    this.#tables = tablesOf(this.#needles);
    this.#onFound(needle.name);
    return true;
  }
}

/** What a search needs to know about its needles. It does not change. */
interface Tables {
  /** Too short for the filter. */
  readonly short: readonly Needle[];
  readonly candidates: ReadonlyMap<number, readonly Candidate[]>;
  readonly filter: WordFilter;
}

/** The searches of a graph run have the same needles. */
const known = new WeakMap<readonly Needle[], Tables>();

function tablesOf(needles: readonly Needle[]): Tables {
  const tables = known.get(needles) ?? makeTables(needles);
  known.set(needles, tables);
  return tables;
}

function makeTables(needles: readonly Needle[]): Tables {
  const candidates = new Map<number, Candidate[]>();
  const wanted: Wanted[] = [];
  for (const needle of needles) {
    for (const { offset, ...words } of needle.bytes.length < MIN_PARTIAL ? [] : wordsOf(needle.bytes)) {
      const others = candidates.get(words.word);
      if (others) others.push({ needle, offset });
      else candidates.set(words.word, [{ needle, offset }]);
      wanted.push(words);
    }
  }
  const short = needles.filter(({ bytes }) => bytes.length < MIN_PARTIAL);
  return { short, candidates, filter: new WordFilter(wanted) };
}

interface WordsOfText extends Wanted {
  /** Where the word stands in the text. */
  readonly offset: number;
}

/**
 * For each alignment of the text: the rarest two words in a row or, in a short text, the one word that it
 * has.
 */
function* wordsOf(text: Buffer): Generator<WordsOfText> {
  for (let alignment = 0; alignment < WORD; alignment++) {
    if (alignment + WORD > text.length) {
      yield* partialWords(text, alignment);
      continue;
    }
    let best = alignment;
    for (let offset = alignment; offset + 2 * WORD <= text.length; offset += WORD)
      if (rarity(text, offset) >= rarity(text, best)) best = offset;
    const hasNext = best + 2 * WORD <= text.length;
    yield { word: wordAt(text, best), next: hasNext ? wordAt(text, best + WORD) : undefined, offset: best };
  }
}

/** The word has three bytes of the text and any other. */
function* partialWords(text: Buffer, offset: number): Generator<WordsOfText> {
  const known = text.subarray(offset);
  for (let next = 0; next < 256; next++)
    yield { word: wordAt(Buffer.concat([known, Buffer.of(next)]), 0), offset };
}

/**
 * Words inside a name are frequent in texts; those that span the end of one and the start of the next are
 * not.
 */
function rarity(text: Buffer, offset: number): number {
  const word = text.toString('latin1', offset, offset + WORD);
  if (/^[^/]+\/[^/]/.test(word)) return 2;
  return /^[a-z]+$/.test(word) ? 0 : 1;
}

/** Little-endian. Bytes after the end count as zeros. */
function wordAt(bytes: Buffer, at: number): number {
  const isWhole = at + WORD <= bytes.length;
  return isWhole ? bytes.readInt32LE(at) : Buffer.concat([bytes.subarray(at)], WORD).readInt32LE();
}

export function isAt(text: Buffer, bytes: Uint8Array, start: number): boolean {
  for (let at = 0; at < text.length; at++) if (bytes[start + at] !== text[at]) return false;
  return true;
}
