// The filter reports every group of bytes that has a wanted word.
import { expect, test } from 'vitest';
import { WordFilter } from '../../../client/outputs/word-filter.ts';
import { Random } from '../../rig/random.ts';

test('a word, and a pair of words, at any aligned position (seed 15)', () => {
  const random = new Random(15);
  for (let round = 0; round < 200; round++) {
    const bytes = Buffer.alloc(4 * (2 + random.below(40_000)));
    const words = [
      { word: random.below(2 ** 31) },
      { word: random.below(2 ** 31), next: random.below(2 ** 31) },
    ];
    const { word, next } = random.pick(words);
    const place = 4 * random.below(bytes.length / 4 - 1);
    bytes.writeInt32LE(word, place);
    if (next !== undefined) bytes.writeInt32LE(next, place + 4);
    const starts: number[] = [];
    new WordFilter(words).search(bytes, (start) => starts.push(start));
    expect(starts).toEqual([place - (place % 32)]);
  }
});

test('two filters do not disturb each other, and an incomplete word has zeros at its end', () => {
  const [one, two] = [new WordFilter([{ word: 0x00006261 }]), new WordFilter([{ word: 0x64636261 }])];
  const groups = (filter: WordFilter, text: string) => {
    const found: number[][] = [];
    filter.search(Buffer.from(text), (start, end) => found.push([start, end]));
    return found;
  };
  expect(groups(one, 'xxxxab')).toEqual([[0, 6]]);
  expect(groups(two, 'xxxxab')).toEqual([]);
  expect(groups(two, `${'x'.repeat(40)}abcd`)).toEqual([[32, 44]]);
  expect(groups(one, 'abcd')).toEqual([]);
});

test('words of bytes that lie at any offset in memory (seed 16)', () => {
  const random = new Random(16);
  for (let round = 0; round < 200; round++) {
    const word = random.below(2 ** 31);
    const memory = Buffer.alloc(4096);
    const offset = random.below(8);
    const bytes = memory.subarray(offset, offset + 4 * (1 + random.below(200)) + random.below(4));
    const place = 4 * random.below(Math.floor(bytes.length / 4));
    bytes.writeInt32LE(word, place);
    const found: number[][] = [];
    new WordFilter([{ word }]).search(bytes, (start, end) => found.push([start, end]));
    const start = place - (place % 32);
    expect(found).toEqual([[start, Math.min(start + 32, bytes.length)]]);
  }
});
