// The filter reports every group of bytes that has a wanted word, in WebAssembly and in JavaScript.
import { afterEach, describe, expect, test, vi } from 'vitest';
import { Random } from '../../rig/random.ts';

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

describe.each(['WebAssembly', 'JavaScript'])('in %s', (runtime) => {
  async function load() {
    vi.resetModules();
    if (runtime === 'JavaScript') vi.stubGlobal('WebAssembly', undefined);
    return (await import('../../../client/outputs/word-filter.ts')).WordFilter;
  }

  test('a word, and a pair of words, at any aligned position (seed 15)', async () => {
    const WordFilter = await load();
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

  test('two filters do not disturb each other, and an incomplete word has zeros at its end', async () => {
    const WordFilter = await load();
    const [one, two] = [new WordFilter([{ word: 0x00006261 }]), new WordFilter([{ word: 0x64636261 }])];
    const groups = (filter: InstanceType<typeof WordFilter>, text: string) => {
      const found: number[][] = [];
      filter.search(Buffer.from(text), (start, end) => found.push([start, end]));
      return found;
    };
    expect(groups(one, 'xxxxab')).toEqual([[0, 6]]);
    expect(groups(two, 'xxxxab')).toEqual([]);
    expect(groups(two, `${'x'.repeat(40)}abcd`)).toEqual([[32, 44]]);
    expect(groups(one, 'abcd')).toEqual([]);
  });
});
