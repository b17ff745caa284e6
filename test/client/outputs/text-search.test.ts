// The search for many texts at once finds what a plain search finds, wherever the text lies and however the
// file comes in pieces.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { digestFile } from '../../../client/files/file-digest.ts';
import { type Needle, type TextPlace, TextSearch } from '../../../client/outputs/text-search.ts';
import { digestOf } from '../../../core/digest.ts';
import { noise, Random } from '../../rig/random.ts';

const always = () => true;

function needle(
  text: string | Buffer,
  name = text.toString(),
  fits: (at: TextPlace) => boolean = always,
): Needle {
  return { name, bytes: Buffer.from(text), fits };
}

function search(needles: readonly Needle[], ...pieces: readonly Buffer[]): string[] {
  const found: string[] = [];
  const searching = new TextSearch(needles, (name) => found.push(name));
  const [only] = pieces;
  if (only && pieces.length === 1) searching.add(only, true);
  else for (const piece of pieces) searching.add(piece, false);
  searching.end();
  return found.sort();
}

const TEXTS = ['/w', '/src', '/work', '6.12.1', 'annasmith', '/home/anna/work', '/home/anna'];

describe.each(TEXTS)('%s', (text) => {
  test('is found at every position of a file', () => {
    for (let at = 0; at < 70; at++) {
      const file = Buffer.concat([
        Buffer.alloc(at, 'x'),
        Buffer.from(text),
        Buffer.alloc((at * 7) % 30, 'y'),
      ]);
      expect(search([needle(text)], file), `at ${at}`).toEqual([text]);
    }
  });

  test('is found at every position of a buffer that begins anywhere', () => {
    const whole = Buffer.from(`......${text}......`);
    for (let from = 0; from < 5; from++) expect(search([needle(text)], whole.subarray(from))).toEqual([text]);
  });

  test('is found across pieces of any size', () => {
    const file = Buffer.concat([Buffer.alloc(300, 'x'), Buffer.from(text), Buffer.alloc(300, 'y')]);
    for (let cut = 1; cut < file.length; cut++)
      expect(search([needle(text)], file.subarray(0, cut), file.subarray(cut)), `cut ${cut}`).toEqual([text]);
    for (const size of [1, 2, 3, 5, 17, 64, 100]) {
      const pieces = Array.from({ length: Math.ceil(file.length / size) }, (_, at) =>
        file.subarray(at * size, (at + 1) * size),
      );
      expect(search([needle(text)], ...pieces), `pieces of ${size}`).toEqual([text]);
    }
  });

  test('is not found where it is not', () => {
    expect(search([needle(text)], Buffer.from(text.slice(0, -1)))).toEqual([]);
    expect(search([needle(text)], Buffer.from(text.slice(1)))).toEqual([]);
    expect(search([needle(text)], Buffer.alloc(0))).toEqual([]);
  });
});

test('the end of one file and the start of the next are no text', () => {
  const found: string[] = [];
  const searching = new TextSearch([needle('annasmith')], (name) => found.push(name));
  searching.add(Buffer.from('xxxx anna'), false);
  searching.end();
  searching.add(Buffer.from('smith xxx'), false);
  searching.end();
  expect(found).toEqual([]);
  searching.add(Buffer.from('annasmith'), false);
  searching.end();
  expect(found).toEqual(['annasmith']);
  expect(searching.isDone).toBe(true);
});

test('agrees with a plain search on random texts (seed 273)', () => {
  const random = new Random(273);
  const word = (length: number) => Array.from({ length }, () => random.pick([...'ab/'])).join('');
  for (let round = 0; round < 300; round++) {
    const texts = [...new Set(Array.from({ length: 5 }, () => word(4 + random.below(8))))];
    const file = Buffer.from(word(200 + random.below(200)));
    const cut = random.below(file.length);
    const plain = texts.filter((text) => file.includes(text)).sort();
    const needles = texts.map((text) => needle(text));
    expect(search(needles, file)).toEqual(plain);
    expect(search(needles, file.subarray(0, cut), file.subarray(cut))).toEqual(plain);
  }
});

test('an occurrence is judged with what stands before and after it, also across pieces', () => {
  const seen = new Set<string>();
  const fits = ({ bytes, start, end }: TextPlace) => {
    seen.add(Buffer.from(bytes.subarray(Math.max(0, start - 4), end + 4)).toString());
    return false;
  };
  const file = Buffer.concat([Buffer.alloc(200, '<'), Buffer.from('annasmith'), Buffer.alloc(200, '>')]);
  for (let cut = 1; cut < file.length; cut++)
    search([needle('annasmith', 'user', fits)], file.subarray(0, cut), file.subarray(cut));
  expect([...seen]).toEqual(['<<<<annasmith>>>>']);
});

test('a text that does not fit at one place is found at the next', () => {
  const fits = ({ bytes, end }: TextPlace) => bytes[end] !== 0x32;
  const file = Buffer.from('/work/app2 /work/app2 /work/app ');
  expect(search([needle('/work/app', 'workspace', fits)], file)).toEqual(['workspace']);
  expect(search([needle('/work/app', 'workspace', fits)], file.subarray(0, 22))).toEqual([]);
});

test('all needles of a name are found once, and the others are still searched', () => {
  const needles = [needle('/work/app', 'workspace'), needle('\\/work\\/app', 'workspace'), needle('build-7')];
  const file = Buffer.from('/work/app \\/work\\/app /work/app build-7 build-7');
  expect(search(needles, file)).toEqual(['build-7', 'workspace']);
});

test('a file that is searched while it is read has its own digest, and its texts are found', () => {
  const folder = mkdtempSync('/tmp/assay-test-');
  try {
    const file = join(folder, 'file');
    const bytes = noise(273, 5 * 2 ** 20 + 77);
    for (const at of [2 ** 20 - 4, 3 * 2 ** 20 - 1, bytes.length - 9]) {
      const content = Buffer.from(bytes);
      content.write('annasmith', at);
      writeFileSync(file, content);
      const found: string[] = [];
      const searching = new TextSearch([needle('annasmith')], (name) => found.push(name));
      const { digest } = digestFile(file, (piece, isWhole) => searching.add(piece, isWhole));
      searching.end();
      expect(digest).toEqual(digestOf(content));
      expect(found).toEqual(['annasmith']);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
