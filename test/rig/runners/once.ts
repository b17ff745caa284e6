// Runners that miss the same actions at the same time, and what shows that each action was executed once.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { inputOf } from './gate.ts';
import { Runner, type RunnerOptions, type Running } from './runner.ts';

/** The value of a line of /metrics; 0 if there is none. */
export async function metric(url: string, name: string, token?: string): Promise<number> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const lines = (await (await fetch(`${url}/metrics`, { headers })).text()).split('\n');
  return Number(
    lines
      .find((line) => line.startsWith(`${name} `))
      ?.split(' ')
      .at(-1) ?? 0,
  );
}

const KNOWN_MS = 600_000;

/**
 * So many runners start at once. On a machine with two cores more of them leave the server no processor in their first
 * seconds, and then give it up because it is silent (docs/decisions/0536).
 */
const AT_ONCE = 4;

/** Starts all runners. Each group of them begins when those before it wait: `allWait` resolves then. */
export async function startInGroups(
  runners: readonly Runner[],
  start: (runner: Runner) => Running,
  allWait: (running: readonly Running[]) => Promise<void>,
): Promise<Running[]> {
  const running: Running[] = [];
  for (let at = 0; at < runners.length; at += AT_ONCE) {
    running.push(...runners.slice(at, at + AT_ONCE).map(start));
    await allWait(running);
  }
  return running;
}

/**
 * Waits until all steps of these runners wait that can: those that others run, but for those of runners whose slots are full
 * of commands, which don't ask. A step that waits gives its slot to another one, so more of them wait than there are slots.
 */
export async function allWait(running: readonly Running[], actions: number, jobs: number): Promise<void> {
  const all = (running.length - 1) * actions - Math.floor(actions / jobs) * (actions - jobs);
  const waits = () =>
    running.reduce((sum, one) => sum + one.said().split('"step-waits-for-run"').length - 1, 0);
  await expect.poll(waits, { timeout: 300_000 }).toBeGreaterThanOrEqual(all);
}

/** Runners with the same steps, which all of them know to be long. */
export async function runnersOf(
  actions: number,
  jobs: number,
  options: readonly RunnerOptions[],
): Promise<Runner[]> {
  const runners = options.map((one) => new Runner(one));
  for (const runner of runners) runner.declareSteps(actions);
  const [first] = runners;
  const primed = await first?.runSteps(inputOf('prime', 0, 0), jobs).ended;
  expect(primed?.code, primed?.said).toBe(0);
  for (const runner of runners) runner.learn(first?.history ?? '', KNOWN_MS);
  return runners;
}

/** Every runner has the outputs of all actions, and of all of them together each action was executed once, a tenth of them again. */
export async function expectOnce(
  runners: readonly Runner[],
  running: readonly Running[],
  actions: number,
  input: string,
): Promise<void> {
  const ends = await Promise.all(running.map(({ ended }) => ended));
  for (const { code, said } of ends) expect(code, said).toBe(0);
  for (const { folder } of runners)
    for (let at = 0; at < actions; at++)
      expect(readFileSync(join(folder, `out${at}`), 'utf8')).toBe(`${at}\n${input}\n`);
  const finished = ends.flatMap((end) => end.finished);
  const ran = finished.filter(({ outcome }) => outcome === 'miss');
  const hedged = ran.filter(({ actionLease }) => actionLease === 'hedged');
  console.log(`${runners.length} runners:`, {
    actions: finished.length,
    ran: ran.length,
    hedged: hedged.length,
    waited: finished.filter(({ actionLease }) => actionLease === 'waited').length,
    longestWaitMs: Math.max(...finished.map(({ leaseWaitedMs }) => leaseWaitedMs)),
  });
  expect(finished).toHaveLength(runners.length * actions);
  // Beside another run, or because its holder sent no heartbeat for so long that its lease was over.
  const again = ran.length - actions;
  expect(again).toBeGreaterThanOrEqual(0);
  expect(again).toBeLessThanOrEqual(actions / 10);
}
