// A run waits for an action's lease, for a bounded time, and then takes a result or runs: W1 to W5 of turn.ts, on a clock that the test turns.
import { describe, expect, test } from 'vitest';
import { Random } from '../../../test/rig/random.ts';
import { RUNNER } from '../runner/limits.ts';
import type {
  Ended,
  Granted,
  HeldByOther,
  HeldLease,
  LeasePlace,
  NoLease,
  PublishedElsewhere,
} from '../runner/place.ts';
import { mostMs, waitForTurn } from '../runner/turn.ts';

const GRANT: HeldLease = { isLost: false, async release() {} };
const GRANTED: Granted = { outcome: 'granted', grant: GRANT };
const fence = (number: number) => ({ epoch: 1, number });
const held = (leftMs: number | undefined, number = 1): HeldByOther => ({
  outcome: 'held',
  holder: 'ci-7',
  leftMs,
  fence: fence(number),
});
const ended = (reason: Ended['reason'], number = 1): Ended => ({
  outcome: 'ended',
  reason,
  fence: fence(number),
});

type Waited = HeldByOther | Ended | PublishedElsewhere | NoLease;

/** A place whose answers are given: to each question, and what a wait ends with after so long. */
class Script {
  now = 0;
  readonly waited = { totalMs: 0 };
  readonly log: string[] = [];
  /** When a look finds a result. */
  resultAt = Number.POSITIVE_INFINITY;
  readonly #acquired: Awaited<ReturnType<LeasePlace['acquire']>>[];
  readonly #waits: (readonly [afterMs: number, answer: Waited])[];

  constructor(
    acquired: readonly Awaited<ReturnType<LeasePlace['acquire']>>[],
    waits: readonly (readonly [number, Waited])[] = [],
  ) {
    this.#acquired = [...acquired];
    this.#waits = [...waits];
  }

  readonly place: LeasePlace = {
    acquire: async (after) => {
      this.log.push(after ? `ask after ${after.number}` : 'ask');
      return this.#acquired.shift() ?? { outcome: 'none' };
    },
    wait: async (of, waitMs) => {
      const next = this.#waits[0];
      if (!next || next[0] > this.now + waitMs) {
        this.now += waitMs;
        return of;
      }
      this.#waits.shift();
      this.now = Math.max(this.now, next[0]);
      return next[1];
    },
  };

  run(knownMs: number) {
    return waitForTurn(this.place, {
      knownMs,
      waited: this.waited,
      now: () => this.now,
      lookAgain: async () => {
        this.log.push('look');
        return this.now >= this.resultAt ? 'result' : undefined;
      },
      onWait: ({ holder, leftMs }) => this.log.push(`waits for ${holder} (${leftMs})`),
      onTurn: async () => void this.log.push('slot'),
      throwIfCancelled() {},
    });
  }
}

test('nobody holds it: granted without a wait', async () => {
  const script = new Script([GRANTED]);
  expect(await script.run(10_000)).toBe(GRANTED);
  expect(script.log).toEqual(['ask']);
});

test('the holder publishes: the waiter looks again and takes the result, without a slot', async () => {
  const script = new Script([held(4000)], [[3800, ended('done')]]);
  script.resultAt = 3800;
  expect(await script.run(5000)).toEqual({ outcome: 'hit', result: 'result' });
  expect(script.log).toEqual(['ask', 'waits for ci-7 (4000)', 'look']);
  expect(script.waited.totalMs).toBe(3800);
});

test('a result that ended just before the question is looked for, and then not run twice', async () => {
  const script = new Script([ended('done', 7), GRANTED]);
  expect(await script.run(5000)).toBe(GRANTED);
  expect(script.log).toEqual(['ask', 'look', 'slot', 'ask after 7']);
});

test.each(['failed', 'unkept'] as const)(
  'the holder %s: the waiter runs, and asks no more (W4)',
  async (reason) => {
    const script = new Script([held(4000)], [[1000, ended(reason)]]);
    expect(await script.run(5000)).toMatchObject({ outcome: 'told', holder: 'ci-7', end: { reason } });
    expect(script.log).toEqual(['ask', 'waits for ci-7 (4000)', 'look']);
  },
);

test.each(['cancelled', 'expired'] as const)(
  'the holder’s lease is %s: one of the waiters is next',
  async (reason) => {
    const script = new Script([held(4000), GRANTED], [[1000, ended(reason)]]);
    expect(await script.run(5000)).toBe(GRANTED);
    expect(script.log).toEqual(['ask', 'waits for ci-7 (4000)', 'look', 'slot', 'ask']);
  },
);

test('a holder that needs longer than the run itself is not waited for (W2)', async () => {
  const script = new Script([held(60_000)]);
  expect(await script.run(5000)).toEqual({ outcome: 'hedged' });
  expect(script.waited.totalMs).toBe(0);
});

test('a holder that only sends heartbeats costs its own known duration and the grace (W1)', async () => {
  const script = new Script([held(undefined)]);
  expect(await script.run(5000)).toEqual({ outcome: 'hedged' });
  expect(script.waited.totalMs).toBe(5000 + RUNNER.graceMs);
});

test('an overdue holder costs a margin (W2)', async () => {
  const script = new Script([held(0)]);
  expect(await script.run(60_000)).toEqual({ outcome: 'hedged' });
  expect(script.waited.totalMs).toBe(60_000 * RUNNER.marginShare);
});

test('a result for other facts is looked at once, and the wait goes on', async () => {
  const again = new Script(
    [held(4000)],
    [
      [100, { outcome: 'published' }],
      [900, ended('done')],
    ],
  );
  again.resultAt = 900;
  expect(await again.run(5000)).toEqual({ outcome: 'hit', result: 'result' });
  const never = new Script(
    [held(4000)],
    [
      [100, { outcome: 'published' }],
      [100, { outcome: 'published' }],
    ],
  );
  expect(await never.run(5000)).toEqual({ outcome: 'hedged' });
});

test('a server that goes away while a run waits: it runs (W5)', async () => {
  const script = new Script([held(4000)], [[700, { outcome: 'none' }]]);
  expect(await script.run(5000)).toEqual({ outcome: 'hedged' });
});

describe('whatever a place answers', () => {
  const answers: readonly Waited[] = [
    ...(['done', 'failed', 'unkept', 'cancelled', 'expired'] as const).map((reason) => ended(reason)),
    { outcome: 'published' },
    held(0),
    held(300, 2),
    held(undefined, 3),
    { outcome: 'none' },
  ];
  test('no run waits longer than its own known duration and the grace (W1)', async () => {
    const random = new Random(43);
    for (let round = 0; round < 2000; round++) {
      const knownMs = 2000 + random.below(60_000);
      const asked = Array.from({ length: 20 }, () => {
        const leftMs = random.below(3) === 0 ? undefined : random.below(80_000);
        return random.below(6) === 0 ? ended('done') : held(leftMs, random.below(5));
      });
      let at = 0;
      const waits = Array.from({ length: 40 }, () => {
        at += random.below(9000);
        return [at, answers[random.below(answers.length)] ?? held(0)] as const;
      });
      const script = new Script(asked, waits);
      script.waited.totalMs = random.below(2) * random.below(knownMs);
      const before = script.waited.totalMs;
      const turn = await script.run(knownMs);
      expect(turn.outcome).not.toBe('held');
      expect(script.waited.totalMs).toBe(before + script.now);
      expect(script.waited.totalMs).toBeLessThanOrEqual(knownMs + RUNNER.graceMs);
    }
  });
});

test('the limit of a wait falls with what was waited before', () => {
  expect(mostMs({ leftMs: undefined }, 10_000, 4000)).toBe(6000 + RUNNER.graceMs);
  expect(mostMs({ leftMs: 2000 }, 10_000, 4000)).toBe(4500);
  expect(mostMs({ leftMs: 2000 }, 10_000, 10_000)).toBe(RUNNER.graceMs);
});
