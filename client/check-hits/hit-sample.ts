// The sample of hits that `--check-hits=PERCENT` runs all the same, chosen by the key of the action and a seed.
// The same seed chooses the same keys on every machine; a run without --check-seed takes a new seed.
import { randomBytes } from 'node:crypto';
import { type ParsedFlags, usage } from '../../core/cli/command.ts';
import { digestOf, type Hash } from '../../core/digest.ts';
import { AssayError } from '../../core/errors.ts';
import type { HitChecks } from '../run/context.ts';
import type { OpenStepHook } from '../run/step-hook.ts';

/** The flags that run no command, run each command, or run for ever. */
const REFUSED = [
  ['dry-run', 'runs no command'],
  ['graph', 'runs no command'],
  ['watch', 'runs again after each change'],
  ['force', 'looks nothing up, so there is no hit to check'],
] as const;

export type SampleFlag = 'check-hits' | 'check-seed' | (typeof REFUSED)[number][0];

const SEED = /^[\x21-\x7e]{1,64}$/;

export class HitSample implements HitChecks {
  readonly percent: number;
  readonly seed: string;
  readonly check: HitChecks['check'];

  constructor(percent: number, check: HitChecks['check'], seed = randomBytes(4).toString('hex')) {
    this.percent = percent;
    this.check = check;
    this.seed = seed;
  }

  includes(key: Hash): boolean {
    const drawn = Number.parseInt(digestOf(Buffer.from(`${this.seed} ${key}`)).hash.slice(0, 8), 16);
    return (drawn / 2 ** 32) * 100 < this.percent;
  }
}

/** Undefined without --check-hits. */
export async function hitSampleFrom(
  flags: ParsedFlags<SampleFlag>,
  stepHook: OpenStepHook,
): Promise<HitSample | undefined> {
  const seed = flags.text('check-seed');
  if (!flags.given('check-hits')) {
    if (seed !== undefined) throw usage('--check-seed goes with --check-hits');
    return undefined;
  }
  for (const [flag, why] of REFUSED)
    if (flags.given(flag)) throw usage(`--check-hits and --${flag} can’t be combined: --${flag} ${why}`);
  if (seed !== undefined && !SEED.test(seed))
    throw usage('--check-seed takes 1 to 64 characters of ASCII without spaces');
  const percent = percentFrom(flags.text('check-hits') || '100');
  const { checkHit } = await stepHook();
  if (!checkHit) throw new AssayError('ASSAY_NOT_IN_BUILD', '--check-hits needs wings/check-hits');
  return new HitSample(percent, checkHit, seed);
}

function percentFrom(text: string): number {
  const percent = Number(text);
  if (/^\d+(?:\.\d+)?$/.test(text) && percent > 0 && percent <= 100) return percent;
  throw usage(`--check-hits takes a percentage above 0 and up to 100, not ${JSON.stringify(text)}`);
}
