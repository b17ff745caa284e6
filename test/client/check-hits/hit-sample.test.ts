// The sample of --check-hits: the seed decides, and flags that make no sense with it are refused.
import { describe, expect, test } from 'vitest';
import { HitSample, hitSampleFrom } from '../../../client/check-hits/hit-sample.ts';
import { GRAPH_FLAGS } from '../../../client/commands/graph-flags.ts';
import { parseFlags } from '../../../core/cli/command.ts';
import { digestOf } from '../../../core/digest.ts';

const KEYS = Array.from({ length: 4000 }, (_, at) => digestOf(Buffer.from(`key ${at}`)).hash);
const chosen = (some: HitSample) => KEYS.filter((key) => some.includes(key));
const checkHit = async (): Promise<never> => {
  throw new Error('nothing is checked here');
};
const from = (...args: string[]) => hitSampleFrom(parseFlags(args, GRAPH_FLAGS), async () => ({ checkHit }));
const sample = (percent: number, seed?: string) => new HitSample(percent, checkHit, seed);

test('a seed always chooses the same keys, and another seed others', () => {
  expect(chosen(sample(5, 'a'))).toEqual(chosen(sample(5, 'a')));
  expect(chosen(sample(5, 'a'))).not.toEqual(chosen(sample(5, 'b')));
  expect(sample(5).seed).not.toBe(sample(5).seed);
});

test('a larger sample of a seed contains the smaller one', () => {
  const large = new Set(chosen(sample(20, 'a')));
  expect(chosen(sample(5, 'a')).every((key) => large.has(key))).toBe(true);
});

test.each([0.5, 5, 50])('about %s %% of the keys are chosen', (percent) => {
  const count = chosen(sample(percent, 'seed')).length;
  expect(Math.abs(count - (KEYS.length * percent) / 100)).toBeLessThan(
    4 * Math.sqrt(KEYS.length * (percent / 100)),
  );
});

test('100 % are all keys', () => {
  expect(chosen(sample(100, 'a'))).toEqual(KEYS);
});

describe('the flags', () => {
  test('without a number: all; with one: that many; the seed as given', async () => {
    expect(await from()).toBeUndefined();
    expect(await from('--check-hits')).toMatchObject({ percent: 100 });
    expect(await from('--check-hits=5', '--check-seed', 'x1')).toMatchObject({ percent: 5, seed: 'x1' });
    expect(await from('--check-hits=0.5')).toMatchObject({ percent: 0.5 });
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
  ])('%j are refused', async (args, message) => {
    await expect(from(...args)).rejects.toThrow(message);
  });

  test('a build without the check refuses them before anything runs', async () => {
    const given = parseFlags(['--check-hits'], GRAPH_FLAGS);
    await expect(hitSampleFrom(given, async () => ({}))).rejects.toThrow('wings/check-hits');
  });
});
