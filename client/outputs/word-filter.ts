// Finds words of 4 bytes in aligned positions, fast: the first step of the search for texts (text-search.ts).
// It may report a position without such a word, and never misses one.
//
// A table has a byte for each of 2^15 hashes of a word. It tells whether the word could be wanted. A second
// table, by another hash, is asked only if the first says yes: for the same word or, if the wanted text is
// longer, for the next one. Two letters in UTF-16 are a word of 4 bytes, and too frequent to be a sign.
// Nearly all time goes into the loop that looks at 8 words in one step.

export const WORD = 4;

const TABLE_BITS = 15;
const SHIFT = 32 - TABLE_BITS;
const TABLE = 1 << TABLE_BITS;
/** How many words are checked in one step. */
const STEP = 8;
const MULTIPLIERS = [0x9e3779b1, 0x85ebca6b, 0xc2b2ae35, 0x27d4eb2f, 0x165667b1];
/**
 * Words that fill whole files: zeros, ones, spaces. A hash that confuses them with a wanted word is not used.
 */
const FILLERS = [0, -1, 0x20202020];

/** A word to find. `next`: the word after it, if that is known too. */
export interface Wanted {
  readonly word: number;
  readonly next?: number | undefined;
}

/** What a table says about a word: wanted alone, or wanted with the next one. */
const ALONE = 1;
const PAIR = 2;

/** The words with one hash have one byte here: ALONE, PAIR, both, or 0 if none of them is wanted. */
interface Table {
  readonly bits: Uint8Array;
  readonly multiplier: number;
}

export class WordFilter {
  readonly #first: Table;
  readonly #second: Table;

  constructor(wanted: readonly Wanted[]) {
    const tables = MULTIPLIERS.map((multiplier) => tableOf(wanted, multiplier, ({ word }) => word));
    const isFit = (table: Table) => FILLERS.every((word) => bitsOf(table, word) === 0);
    this.#first = tables.find(isFit) ?? tableOf(wanted, MULTIPLIERS[0] ?? 1, ({ word }) => word);
    const other = MULTIPLIERS.find((multiplier) => multiplier !== this.#first.multiplier) ?? 1;
    this.#second = tableOf(wanted, other, ({ word, next }) => next ?? word);
  }

  /**
   * Calls `visit` with the start and the end of each group of `bytes` that could have one of the words. Bytes
   * that the last word lacks count as zeros.
   */
  search(bytes: Uint8Array, visit: (start: number, end: number) => void): void {
    const aligned = bytes.byteOffset % WORD === 0 ? bytes : new Uint8Array(bytes);
    const words = new Int32Array(aligned.buffer, aligned.byteOffset, Math.floor(bytes.length / WORD));
    // The last step of the whole words needs the word behind it.
    const inPlace = Math.max(0, Math.floor((words.length - 1) / STEP) * STEP);
    this.#searchWords(words, inPlace, (at) => visit(at * WORD, (at + STEP) * WORD));
    const start = inPlace * WORD;
    const rest = new Int32Array(3 * STEP);
    new Uint8Array(rest.buffer).set(aligned.subarray(start));
    this.#searchWords(rest, Math.ceil((bytes.length - start) / WORD), (at) =>
      visit(start + at * WORD, Math.min(start + (at + STEP) * WORD, bytes.length)),
    );
  }

  #searchWords(words: Int32Array, end: number, visit: (at: number) => void): void {
    for (let at = nextStep(words, 0, end, this.#first); at < end; ) {
      if (this.#isLikely(words, at)) visit(at);
      at = nextStep(words, at + STEP, end, this.#first);
    }
  }

  #isLikely(words: Int32Array, from: number): boolean {
    for (let at = from; at < from + STEP; at++) {
      const word = words[at] ?? 0;
      const known = bitsOf(this.#first, word);
      if (known & ALONE & bitsOf(this.#second, word)) return true;
      if (known & PAIR & bitsOf(this.#second, words[at + 1] ?? 0)) return true;
    }
    return false;
  }
}

/** The first step from `from` on in which a word could be wanted, or `end`. Written out: a loop takes twice as long. */
function nextStep(words: Int32Array, from: number, end: number, { bits, multiplier }: Table): number {
  for (let at = from; at < end; at += STEP) {
    const any =
      (bits[Math.imul(words[at] ?? 0, multiplier) >>> SHIFT] ?? 0) |
      (bits[Math.imul(words[at + 1] ?? 0, multiplier) >>> SHIFT] ?? 0) |
      (bits[Math.imul(words[at + 2] ?? 0, multiplier) >>> SHIFT] ?? 0) |
      (bits[Math.imul(words[at + 3] ?? 0, multiplier) >>> SHIFT] ?? 0) |
      (bits[Math.imul(words[at + 4] ?? 0, multiplier) >>> SHIFT] ?? 0) |
      (bits[Math.imul(words[at + 5] ?? 0, multiplier) >>> SHIFT] ?? 0) |
      (bits[Math.imul(words[at + 6] ?? 0, multiplier) >>> SHIFT] ?? 0) |
      (bits[Math.imul(words[at + 7] ?? 0, multiplier) >>> SHIFT] ?? 0);
    if (any !== 0) return at;
  }
  return end;
}

function tableOf(wanted: readonly Wanted[], multiplier: number, wordOf: (wanted: Wanted) => number): Table {
  const bits = new Uint8Array(TABLE);
  for (const one of wanted) {
    const slot = slotOf(wordOf(one), multiplier);
    bits[slot] = (bits[slot] ?? 0) | (one.next === undefined ? ALONE : PAIR);
  }
  return { bits, multiplier };
}

function bitsOf({ bits, multiplier }: Table, word: number): number {
  return bits[slotOf(word, multiplier)] ?? 0;
}

function slotOf(word: number, multiplier: number): number {
  return Math.imul(word, multiplier) >>> SHIFT;
}
