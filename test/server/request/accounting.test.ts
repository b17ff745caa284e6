// The accounting without wings, and what observers are told.
import { expect, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { DEFAULT_NAMESPACE } from '../../../core/namespace.ts';
import { Accounting } from '../../../server/request/accounting.ts';
import type { CountedLookup, Observer } from '../../../server/request/observer.ts';
import { identity, MAIN, sourceOf } from '../access/identities.ts';
import { ask, testServer } from '../rig.ts';

const ROOT = identity('root', { namespace: '', rights: 'read-write,server:stats' });
const key = (name: string) => digestOf(Buffer.from(name)).hash;
const LOOKUP = { identity: MAIN, headers: {}, protocol: 'http', namespace: MAIN.namespace, key: key('a') };

test('metrics have durations, and lookups by tool and a bounded number of namespaces', async () => {
  const server = await testServer({ identities: sourceOf(ROOT) });
  const headers = { authorization: 'Bearer root' };
  for (let n = 0; n < 120; n++) await ask(`${server.url}/team${n}/ac/${key('a')}`, 'GET', { headers });
  const { body } = await ask(`${server.url}/metrics`, 'GET', { headers });
  const lines = body.toString().split('\n');
  const counts = lines.filter((line) => line.startsWith('assay_results_total{'));
  expect(counts).toContain('assay_results_total{tool="http",namespace="team7",outcome="miss"} 1');
  expect(counts).toContain('assay_results_total{tool="http",namespace="(other)",outcome="miss"} 20');
  expect(counts).toHaveLength(101);
  expect(lines).toContain('assay_request_duration_seconds_count{route="ac"} 120');
  expect(lines).toContain('assay_request_duration_seconds_bucket{route="ac",le="+Inf"} 120');
});

/** Remembers what it is told. */
class Told implements Observer {
  readonly lookups: CountedLookup[] = [];
  readonly answers: unknown[] = [];

  start(): void {}

  lookedUp(lookup: CountedLookup): void {
    this.lookups.push(lookup);
  }

  answered(...answer: Parameters<Observer['answered']>): void {
    this.answers.push(answer);
  }

  wrote(): void {}
  denied(): void {}
  toldSession(): void {}
  async close(): Promise<void> {}
}

function accounting(...observers: readonly Observer[]) {
  const counted: unknown[] = [];
  const errors: unknown[] = [];
  const made = new Accounting({
    metrics: {
      lookedUp: (...call) => counted.push(call),
      lookedUpBy: (...call) => counted.push(call),
      denied: (...call) => counted.push(call),
    },
    onTrouble: (error) => errors.push(error),
    now: () => 7,
  });
  for (const observer of observers) made.addObserver(observer);
  return { made, counted, errors };
}

test('a lookup is counted at once, and by tool when somebody reads', async () => {
  const { made, counted } = accounting();
  made.lookedUp('ac', { ...LOOKUP, found: true });
  made.answered(MAIN, false, 3);
  expect(counted).toEqual([['ac', true]]);
  made.count();
  expect(counted).toEqual([
    ['ac', true],
    ['http', MAIN.namespace, true],
  ]);
  made.denied(MAIN, 'ac', 'why');
  expect(counted.at(-1)).toEqual(['ac']);
  await made.close();
});

test('every observer is told the same, in the order in which it happened', async () => {
  const observers = [new Told(), new Told()];
  const { made } = accounting(...observers);
  made.lookedUp('ac', { ...LOOKUP, found: true });
  made.answered(MAIN, false, 3);
  made.answered(undefined, true, 4);
  for (const { lookups, answers } of observers) {
    expect(lookups).toMatchObject([{ at: 7, identity: 'main', key: key('a'), found: true }]);
    expect(answers).toEqual([
      [MAIN.namespace, false, 3, 7],
      [DEFAULT_NAMESPACE, true, 4, 7],
    ]);
  }
  await made.close();
});

test('an observer that fails is reported, and fails neither the request nor another observer', async () => {
  class Failing extends Told {
    override lookedUp(): void {
      throw new Error('a fault');
    }
  }
  const other = new Told();
  const { made, errors } = accounting(new Failing(), other);
  made.lookedUp('ac', { ...LOOKUP, found: true });
  made.count();
  expect(errors.map(String)).toEqual(['Error: a fault']);
  expect(other.lookups).toHaveLength(1);
  await made.close();
});
