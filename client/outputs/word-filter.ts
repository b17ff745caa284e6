// Finds words of 4 bytes in aligned positions, fast: the first step of the search for texts (text-search.ts).
// It may report a position without such a word, and never misses one.
//
// A table has a byte for each of 2^15 hashes of a word. It tells whether the word could be wanted. A second
// table, by another hash, is asked only if the first says yes: for the same word or, if the wanted text is
// longer, for the next one. Two letters in UTF-16 are a word of 4 bytes, and too frequent to be a sign.
// The loop is WebAssembly: JavaScript takes three times as long for it, because it checks each index. Where
// WebAssembly gets no memory, JavaScript does the same. Files are read into its memory, so that nothing has
// to be copied.
import { STORE } from '../../store/limits.ts';
import { readInto } from '../files/file-digest.ts';

export const WORD = 4;

const TABLE_BITS = 15;
const SHIFT = 32 - TABLE_BITS;
const TABLE = 1 << TABLE_BITS;
/** How many bytes are checked in one step. */
const GROUP = 8 * WORD;
/** In memory, behind both tables: where bytes are copied to, and where files are read to. */
const COPY_AT = 2 * TABLE;
const COPY_BYTES = 1 << 16;
const CHUNK_AT = COPY_AT + COPY_BYTES;
/** With room for the word after the last. */
const MEMORY = CHUNK_AT + STORE.chunkBytes + GROUP;
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

/** The part of WebAssembly that this file needs; the types of Node do not have it. */
interface WebAssemblyRuntime {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (
    module: object,
  ) => {
    readonly exports: { readonly memory?: { readonly buffer: ArrayBuffer }; readonly scan?: Scan };
  };
}

const WEB_ASSEMBLY: string = 'WebAssembly';

/** The address of the first group from `at` on that could have a wanted word, or `end`. */
type Scan = (at: number, end: number, first: number, second: number) => number;

type Visit = (start: number, end: number) => void;

interface Machine {
  readonly memory: Uint8Array;
  readonly scan: Scan;
  /** The filter whose words are in the tables. */
  owner: WordFilter | undefined;
}

/** One for all searches of a process, because each memory of WebAssembly reserves much address space. */
let machine: Machine | undefined;

export class WordFilter {
  readonly #first: Uint8Array;
  readonly #second: Uint8Array;
  readonly #multipliers: readonly [number, number];

  constructor(wanted: readonly Wanted[]) {
    const tables = MULTIPLIERS.map((multiplier) => ({ multiplier, table: firstTable(wanted, multiplier) }));
    const isFit = ({ multiplier, table }: (typeof tables)[number]) =>
      FILLERS.every((word) => table[slotOf(word, multiplier)] === 0);
    const { multiplier, table } = tables.find(isFit) ??
      tables[0] ?? { multiplier: 0, table: new Uint8Array(TABLE) };
    const second = MULTIPLIERS.find((other) => other !== multiplier) ?? 0;
    this.#first = table;
    this.#second = secondTable(wanted, second);
    this.#multipliers = [multiplier, second];
  }

  /**
   * Calls `visit` with the start and the end of each group of `bytes` that could have one of the words. Bytes
   * that the last word lacks count as zeros.
   */
  search(bytes: Uint8Array, visit: Visit): void {
    const ready = this.#machine();
    const { memory } = ready;
    if (bytes.buffer === memory.buffer) {
      this.#scan(ready, bytes.byteOffset, bytes.length, visit);
      return;
    }
    for (let from = 0; from < bytes.length; from += COPY_BYTES) {
      const part = bytes.subarray(from, from + COPY_BYTES);
      memory.set(part, COPY_AT);
      this.#scan(ready, COPY_AT, part.length, (start, end) => visit(from + start, from + end));
    }
  }

  #scan({ memory, scan }: Machine, address: number, length: number, visit: Visit): void {
    const [first, second] = this.#multipliers;
    const end = address + Math.ceil(length / GROUP) * GROUP;
    memory.fill(0, address + length, end);
    for (let at = scan(address, end, first, second); at < end; at = scan(at + GROUP, end, first, second))
      visit(at - address, Math.min(at - address + GROUP, length));
  }

  #machine(): Machine {
    machine ??= makeMachine();
    if (machine.owner !== this) {
      machine.memory.set(this.#first, 0);
      machine.memory.set(this.#second, TABLE);
      machine.owner = this;
    }
    return machine;
  }
}

function slotOf(word: number, multiplier: number): number {
  return Math.imul(word, multiplier) >>> SHIFT;
}

function firstTable(wanted: readonly Wanted[], multiplier: number): Uint8Array {
  const table = new Uint8Array(TABLE);
  for (const { word, next } of wanted)
    mark(table, slotOf(word, multiplier), next === undefined ? ALONE : PAIR);
  return table;
}

function secondTable(wanted: readonly Wanted[], multiplier: number): Uint8Array {
  const table = new Uint8Array(TABLE);
  for (const { word, next } of wanted)
    mark(table, slotOf(next ?? word, multiplier), next === undefined ? ALONE : PAIR);
  return table;
}

function mark(table: Uint8Array, slot: number, bit: number): void {
  table[slot] = (table[slot] ?? 0) | bit;
}

function makeMachine(): Machine {
  try {
    const runtime: WebAssemblyRuntime = Reflect.get(globalThis, WEB_ASSEMBLY);
    const { memory, scan } = new runtime.Instance(new runtime.Module(program())).exports;
    if (memory && scan) {
      readInto(Buffer.from(memory.buffer, CHUNK_AT, STORE.chunkBytes));
      return { memory: new Uint8Array(memory.buffer), scan, owner: undefined };
    }
  } catch {
    // No address space is left, or WebAssembly is switched off.
  }
  const memory = new Uint8Array(MEMORY);
  return { memory, scan: scanIn(memory), owner: undefined };
}

/** The same as the module, in JavaScript. */
function scanIn(memory: Uint8Array): Scan {
  const words = new Int32Array(memory.buffer);
  return (at, end, first, second) => {
    const firstOf = (word: number) => memory[slotOf(word, first)] ?? 0;
    const secondOf = (word: number) => memory[TABLE + slotOf(word, second)] ?? 0;
    for (let address = at; address < end; address += WORD) {
      const word = words[address / WORD] ?? 0;
      const known = firstOf(word);
      if (known === 0) continue;
      const next = words[address / WORD + 1] ?? 0;
      if ((known & ALONE & secondOf(word)) | (known & PAIR & secondOf(next)))
        return address - ((address - at) % GROUP);
    }
    return end;
  };
}

/**
 * The module:
 *
 *   (memory (export "memory") PAGES)
 *   (func (export "scan") (param $at i32) (param $end i32) (param $first i32) (param $second i32) (result i32)
 *     (loop
 *       (if (i32.ge_u $at $end) (then (return $end)))
 *       (if (or of: first table at (word * $first) >>> SHIFT, for each word of the group)
 *         (then (if (or of: that and second table at (word * $second) >>> SHIFT, for the bit ALONE, or
 *           second table at (next word * $second) >>> SHIFT, for the bit PAIR) (then (return $at)))))
 *       (set $at (i32.add $at GROUP))
 *       (br to the loop))
 *     unreachable)
 */
function program(): Uint8Array {
  const [AT, END, FIRST, SECOND] = [0, 1, 2, 3];
  const get = (local: number) => [0x20, local];
  const constant = (value: number) => [0x41, ...leb(value, true)];
  const when = (...body: number[]) => [0x04, 0x40, ...body, 0x0b];
  const giveBack = (local: number) => [...get(local), 0x0f];
  const looked = (offset: number, multiplier: number, table: number) => [
    ...[...get(AT), 0x28, 2, ...leb(offset)], // i32.load
    ...[...get(multiplier), 0x6c, ...constant(SHIFT), 0x76], // i32.mul, i32.shr_u
    ...[0x2d, 0, ...leb(table)], // i32.load8_u
  ];
  const offsets = Array.from({ length: GROUP / WORD }, (_, index) => index * WORD);
  const anyOf = (each: (offset: number) => number[]) =>
    offsets.flatMap((offset, index) => [...each(offset), ...(index === 0 ? [] : [0x72])]); // i32.or
  const maybe = anyOf((offset) => looked(offset, FIRST, 0));
  const secondOf = (offset: number, bit: number) => [
    ...[...looked(offset, SECOND, TABLE), ...constant(bit), 0x71], // i32.and
  ];
  const likely = anyOf((offset) => [
    ...looked(offset, FIRST, 0),
    ...[...secondOf(offset, ALONE), ...secondOf(offset + WORD, PAIR), 0x72, 0x71], // i32.or, i32.and
  ]);
  const body = [
    ...[0, 0x03, 0x40], // no locals; loop
    ...[...get(AT), ...get(END), 0x4f, ...when(...giveBack(END))], // i32.ge_u
    ...[...maybe, ...when(...likely, ...when(...giveBack(AT)))],
    ...[...get(AT), ...constant(GROUP), 0x6a, 0x21, AT], // i32.add, local.set
    ...[0x0c, 0, 0x0b, 0x00, 0x0b], // br to the loop, end, unreachable, end
  ];
  const I32 = 0x7f;
  const pages = Math.ceil(MEMORY / 65536);
  return new Uint8Array([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, 4, I32, I32, I32, I32, 1, I32]), // types
    ...section(3, [1, 0]), // functions
    ...section(5, [1, 0, ...leb(pages)]), // memories
    ...section(7, [2, ...name('memory'), 2, 0, ...name('scan'), 0, 0]), // exports
    ...section(10, [1, ...leb(body.length), ...body]), // code
  ]);
}

function section(id: number, content: readonly number[]): number[] {
  return [id, ...leb(content.length), ...content];
}

function name(text: string): number[] {
  return [text.length, ...Buffer.from(text)];
}

/** LEB128. A signed number of up to 6 bits ends where its sign bit is clear. */
function leb(value: number, isSigned = false): number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= (isSigned ? 0x40 : 0x80)) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  return [...bytes, rest];
}
