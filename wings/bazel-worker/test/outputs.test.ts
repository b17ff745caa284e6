// Which arguments of a request name outputs, and which cannot be outputs.
import { expect, test } from 'vitest';
import { namedOutputs } from '../outputs.ts';

test('outputs are named by a marker, which is not passed to the tool, or by a flag, which is', () => {
  const { args, outputs } = namedOutputs(['--assay-output=a', '-o', 'b', '--out=c'], ['-o', '--out']);
  expect(args).toEqual(['-o', 'b', '--out=c']);
  expect(outputs).toEqual(['a', 'b', 'c']);
});

test.each(['.git', '.git/config', 'x/.assay', 'assay.json'])('%s cannot be an output', (path) => {
  expect(() => namedOutputs([`--assay-output=${path}`], [])).toThrow('ASSAY_OUTPUT_RESERVED');
  expect(() => namedOutputs(['-o', path], ['-o'])).toThrow('ASSAY_OUTPUT_RESERVED');
});

test('the whole workspace cannot be an output', () => {
  expect(() => namedOutputs(['--assay-output=.'], [])).toThrow('the whole workspace');
});
