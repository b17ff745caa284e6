// Scheduling: which steps are active, which run their commands, and what happens to those that wait for a
// slot.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type ScheduleOptions, type ScheduleSlot, schedule } from '../../../client/graph/schedule.ts';
import { Random } from '../../rig/random.ts';

const SEED = Number(process.env.ASSAY_TEST_SEED ?? 20261116);

/** One step starts per event loop iteration: after this many, every step that can start has started. */
const TURNS = 50;

/** Waits by a simulated clock that advances when all tasks are idle, so that the order is deterministic. */
const waiting: { readonly at: number; readonly resolve: () => void }[] = [];
let now = 0;
let isMoving = false;

function wait(ms: number): Promise<void>;
function wait<T>(ms: number, value: T): Promise<T>;
function wait(ms: number, value?: unknown): Promise<unknown> {
  return new Promise((resolve) => {
    waiting.push({ at: now + ms, resolve: () => resolve(value) });
    if (!isMoving) void moveOn();
  });
}

async function moveOn(): Promise<void> {
  isMoving = true;
  while (waiting.length > 0) {
    for (let turn = 0; turn < TURNS; turn++) await nextTurn();
    waiting.sort((a, b) => a.at - b.at);
    const next = waiting.shift();
    now = next?.at ?? now;
    next?.resolve();
  }
  isMoving = false;
}

interface Planned {
  readonly id: string;
  readonly dependsOn: readonly string[];
  readonly work: (slot: ScheduleSlot) => Promise<boolean>;
}

const planned = (id: string, work: Planned['work'], ...dependsOn: string[]): Planned => ({
  id,
  dependsOn,
  work,
});

/** Acquires a slot and runs for some time. */
function command(ms: number, succeeded = true): Planned['work'] {
  return async (slot) => {
    const refusal = await slot.acquire();
    if (refusal === undefined) await wait(ms);
    return refusal === undefined && succeeded;
  };
}

const hit = (ms: number) => () => wait(ms, true);

async function run(order: readonly Planned[], options: Partial<ScheduleOptions> = {}) {
  const events: string[] = [];
  const began: string[] = [];
  const whole = { jobs: 2, ahead: 32, keepGoing: false, isCancelled: () => false, ...options };
  await schedule(order, whole, {
    async run(step, slot) {
      began.push(step.id);
      const succeeded = await step.work(slot);
      events.push(`${step.id} ${succeeded ? 'done' : 'failed'}`);
      return succeeded;
    },
    skip: ({ id }, why) => events.push(`${id} skipped: ${why}`),
    waits: ({ id }) => events.push(`${id} waits`),
    resumes: ({ id }) => events.push(`${id} resumes`),
  });
  return { events, began };
}

test('hits do not wait for running commands', async () => {
  const { events } = await run([
    planned('a', command(200)),
    planned('b', command(200)),
    planned('c', hit(10)),
    planned('d', hit(10)),
    planned('e', hit(10), 'd'),
  ]);
  expect(events.slice(0, 3).sort()).toEqual(['c done', 'd done', 'e done']);
});

test(`no more commands run than there are jobs, and a few more steps are active (seed ${SEED})`, async () => {
  const random = new Random(SEED);
  const [jobs, ahead] = [3, 5];
  let [commands, mostCommands, underWay, mostUnderWay] = [0, 0, 0, 0];
  const work: Planned['work'] = async (slot) => {
    mostUnderWay = Math.max(mostUnderWay, ++underWay);
    await wait(random.below(5));
    if (random.below(2) === 0) {
      await slot.acquire();
      mostCommands = Math.max(mostCommands, ++commands);
      // Free the second time: the step already holds its slot.
      expect(await slot.acquire()).toBeUndefined();
      await wait(random.below(5));
      commands--;
    }
    underWay--;
    return true;
  };
  const order = Array.from({ length: 100 }, (_, at) => planned(`s${at}`, work));
  const { began } = await run(order, { jobs, ahead });
  expect(began).toEqual(order.map(({ id }) => id));
  expect(mostCommands).toBe(jobs);
  expect(mostUnderWay).toBe(jobs + ahead);
});

test('a released slot goes to the next command while its step goes on', async () => {
  const events: string[] = [];
  const storing: (id: string) => Planned['work'] = (id) => async (slot) => {
    await slot.acquire();
    events.push(`${id} begins`);
    await wait(10);
    slot.release();
    slot.release();
    events.push(`${id} has ended`);
    await wait(1000);
    events.push(`${id} is stored`);
    return true;
  };
  const order = ['a', 'b', 'c', 'd'].map((id) => planned(id, storing(id)));
  await run([...order, planned('e', command(5), 'a')], { jobs: 1 });
  expect(events).toEqual([
    ...order.flatMap(({ id }) => [`${id} begins`, `${id} has ended`]),
    ...order.map(({ id }) => `${id} is stored`),
  ]);
});

test('a step that fails without releasing its slot lets no other command begin', async () => {
  const { events } = await run([planned('a', command(5, false)), planned('b', command(5))], {
    jobs: 1,
    ahead: 4,
  });
  expect(events.at(-1)).toBe('b failed');
  expect(events).not.toContain('b resumes');
});

test('slots are granted in the order of the requests', async () => {
  const { events } = await run(
    ['a', 'b', 'c', 'd'].map((id) => planned(id, command(20))),
    { jobs: 1 },
  );
  expect(events.filter((one) => one.endsWith('done'))).toEqual(['a done', 'b done', 'c done', 'd done']);
  expect(events.filter((one) => one.startsWith('c'))).toEqual(['c waits', 'c resumes', 'c done']);
});

test('without lookahead, a step starts when the one before has ended', async () => {
  const { events, began } = await run(
    ['a', 'b', 'c'].map((id) => planned(id, command(5))),
    { jobs: 1, ahead: 0 },
  );
  expect(events).toEqual(['a done', 'b done', 'c done']);
  expect(began).toEqual(['a', 'b', 'c']);
});

test('a step that waits for nothing ends before the next starts', async () => {
  let [underWay, most] = [0, 0];
  const work = async () => {
    most = Math.max(most, ++underWay);
    for (let time = 0; time < 10; time++) await Promise.resolve();
    underWay--;
    return true;
  };
  await run(
    Array.from({ length: 50 }, (_, at) => planned(`s${at}`, work)),
    { jobs: 1, ahead: 10 },
  );
  expect(most).toBe(1);
});

test('after a failure, steps that wait for a slot are refused, and no new step starts', async () => {
  const { events } = await run(
    [
      planned('a', command(50, false)),
      planned('b', command(100)),
      planned('c', command(5)),
      planned('d', command(5), 'a'),
    ],
    { jobs: 2, ahead: 1 },
  );
  expect(events).toEqual(['c waits', 'a failed', 'c failed', 'd skipped: a did not succeed', 'b done']);
});

test('a step with an unused slot is refused after another step fails', async () => {
  const refusals: (string | undefined)[] = [];
  const twice: Planned['work'] = async (slot) => {
    refusals.push(await slot.acquire(), slot.refusal());
    await wait(60);
    refusals.push(await slot.acquire(), slot.refusal());
    return false;
  };
  await run([planned('a', command(30, false)), planned('b', twice)]);
  const AFTER_A = 'a failed before this step started';
  expect(refusals).toEqual([undefined, undefined, AFTER_A, AFTER_A]);
});

test('with keepGoing, waiting steps that do not depend on the failure get their slots', async () => {
  const { events } = await run(
    [planned('a', command(20, false)), planned('b', command(40)), planned('c', command(5))],
    { keepGoing: true },
  );
  expect(events).toEqual(['c waits', 'a failed', 'c resumes', 'c done', 'b done']);
});

test('after cancellation no step gets a slot, whether it waited or asks later', async () => {
  let isCancelled = false;
  const refusals: (string | undefined)[] = [];
  const late: Planned['work'] = async (slot) => {
    await wait(100);
    refusals.push(await slot.acquire());
    return false;
  };
  void wait(30).then(() => {
    isCancelled = true;
  });
  const { events } = await run(
    [planned('a', command(60)), planned('c', command(5)), planned('d', late), planned('e', hit(1), 'a')],
    { jobs: 1, isCancelled: () => isCancelled },
  );
  expect(events).toEqual(['c waits', 'a done', 'c failed', 'e skipped: the run was interrupted', 'd failed']);
  expect(refusals).toEqual(['the run was interrupted']);
});
