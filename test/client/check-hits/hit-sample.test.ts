// The sample of --check-hits: the seed decides, and flags that make no sense with it are refused.
import { describe, expect, test } from 'vitest';
import { HitSample, hitSampleFrom } from '../../../client/check-hits/hit-sample.ts';
import { GRAPH_FLAGS } from '../../../client/commands/graph-flags.ts';
import { parseFlags } from '../../../core/cli/command.ts';
import { digestOf } from '../../../core/digest.ts';

const KEYS = Array.from({ length: 4000 }, (_, at) => digestOf(Buffer.from(`key ${at}`)).hash);
const chosen = (sample: HitSample) => KEYS.filter((key) => sample.includes(key));
const from = (...args: string[]) => hitSampleFrom(parseFlags(args, GRAPH_FLAGS));

test('a seed always chooses the same keys, and another seed others', () => {
  expect(chosen(new HitSample(5, 'a'))).toEqual(chosen(new HitSample(5, 'a')));
  expect(chosen(new HitSample(5, 'a'))).not.toEqual(chosen(new HitSample(5, 'b')));
  expect(new HitSample(5).seed).not.toBe(new HitSample(5).seed);
});

test('a larger sample of a seed contains the smaller one', () => {
  const large = new Set(chosen(new HitSample(20, 'a')));
  expect(chosen(new HitSample(5, 'a')).every((key) => large.has(key))).toBe(true);
});

test.each([0.5, 5, 50])('about %s %% of the keys are chosen', (percent) => {
  const count = chosen(new HitSample(percent, 'seed')).length;
  expect(Math.abs(count - (KEYS.length * percent) / 100)).toBeLessThan(
    4 * Math.sqrt(KEYS.length * (percent / 100)),
  );
});

test('100 % are all keys', () => {
  expect(chosen(new HitSample(100, 'a'))).toEqual(KEYS);
});

describe('the flags', () => {
  test('without a number: all; with one: that many; the seed as given', () => {
    expect(from()).toBeUndefined();
    expect(from('--check-hits')).toMatchObject({ percent: 100 });
    expect(from('--check-hits=5', '--check-seed', 'x1')).toMatchObject({ percent: 5, seed: 'x1' });
    expect(from('--check-hits=0.5')?.percent).toBe(0.5);
  });

  test.each([
    [['--check-hits=0'], '--check-hits takes a percentage above 0 and up to 100, not "0"'],
    [['--check-hits=101'], '--check-hits takes a percentage'],
    [['--check-hits=5%'], '--check-hits takes a percentage'],
    [['--check-hits=-1'], '--check-hits takes a percentage'],
    [['--check-seed=a'], '--check-seed goes with --check-hits'],
    [['--check-hits', '--check-seed=a b'], '--check-seed takes 1 to 64 characters'],
    [['--check-hits', '--force'], '--check-hits and --force can’t be combined: --force looks nothing up'],
    [['--check-hits', '--watch'], '--check-hits and --watch can’t be combined'],
    [
      ['--check-hits', '--dry-run'],
      '--check-hits and --dry-run can’t be combined: --dry-run runs no command',
    ],
    [['--check-hits', '--graph'], '--check-hits and --graph can’t be combined'],
  ])('%j are refused', (args, message) => {
    expect(() => from(...args)).toThrow(message);
  });
});
