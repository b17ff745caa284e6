// How the difference of two results is described: where it is, with readable context.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Folder } from '../../../test/hermeticity/rig.ts';
import { bufferDifference, differenceBetween } from '../experiment/difference.ts';

let folder: Folder;
beforeEach(() => {
  folder = new Folder();
});
afterEach(() => folder.remove());

const between = (a: string | Buffer, b: string | Buffer) =>
  differenceBetween(folder.write('a', a), folder.write('b', b), false);

test('a text difference shows its whole line', () => {
  expect(between('same\nx=1 y\nend\n', 'same\nx=2 y\nend\n')).toEqual({
    offset: 7,
    wordOffset: 7,
    description: 'differs at byte 7: "x=1 y" and "x=2 y"',
  });
});

test('two differences in one number have the same word offset', () => {
  expect(between('at 12345', 'at 12945').wordOffset).toBe(3);
  expect(between('at 12345', 'at 92345').wordOffset).toBe(3);
});

test('text in a binary file is shown without the bytes around it', () => {
  const binary = (text: string) =>
    Buffer.concat([Buffer.from([0x80, 0xff, 0]), Buffer.from(text), Buffer.from([0, 1])]);
  expect(between(binary('Nov 15'), binary('Dec 18')).description).toBe(
    'differs at byte 3: "Nov 15" and "Dec 18"',
  );
});

test('binary differences are shown in hex', () => {
  expect(between(Buffer.from([0, 1, 2, 3]), Buffer.from([0, 1, 9, 3])).description).toBe(
    'differs at byte 2: <0203> and <0903>',
  );
});

test('if the first difference in a binary file is not text, the first differing text is shown too', () => {
  const binary = (length: number, path: string) =>
    Buffer.concat([Buffer.from([0, length, 0, 0, 0, 0, 0, 0, 0, 0]), Buffer.from(path), Buffer.from([0, 1])]);
  expect(between(binary(1, '/home/one'), binary(2, '/home/other')).description).toBe(
    'differs at byte 1: <0100000000000000> and <0200000000000000>, first in the text "/home/one" and "/home/other"',
  );
});

test('a file that ends earlier differs at its end, even beyond the first chunk', () => {
  const long = Buffer.alloc(3_000_000, 'a');
  expect(between(long, long.subarray(0, 2_500_000)).offset).toBe(2_500_000);
});

test('a file that is missing in one run, or has another type, is described', () => {
  expect(differenceBetween(folder.write('a'), folder.at('none'), false).description).toBe(
    'is missing in one of the runs',
  );
  expect(differenceBetween(folder.write('a'), folder.path, false).description).toBe(
    'is a file in one run and a folder in another',
  );
});

test('a difference that may be a secret shows only its offset', () => {
  expect(bufferDifference(Buffer.from('key=1'), Buffer.from('key=2'), true).description).toBe(
    'differs at byte 4',
  );
});
