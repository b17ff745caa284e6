// Runs of one machine that share a store and miss the same long action at the same time: one runs it. No server.
import { spawn } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  baseEnvironment,
  CLIENT_FORM,
  FORMS,
  type RanWithSummary,
  Workshop,
} from '../../../test/rig/assay.ts';
import { GATED, Gate, inputOf } from '../../../test/rig/runners/gate.ts';
import { tookSoLong } from '../../../test/rig/runners/runner.ts';

let shop: Workshop;
let gate: Gate;
const primed = new Workshop();

/** The input says how it ends, and names the gate that it passes. */
const COMMAND = ['sh', '-c', `${GATED}; cat in > out; exit $code`];
const ARGS = ['--input', 'in', '--output', 'out', '--', ...COMMAND];
const KNOWN_MS = 600_000;

beforeAll(async () => {
  const { summary } = await run(primed, primed.workspace, inputOf('first', 0, 0));
  expect(summary).toMatchObject({ exitCode: 0, published: true });
  learn(primed);
});

beforeEach(() => {
  shop = new Workshop();
  gate = new Gate();
  cpSync(primed.store, shop.store, { recursive: true });
});

afterEach(() => shop.remove());
afterAll(() => primed.remove());

/** Its store says that each command took so long. */
function learn({ store }: Workshop): void {
  const history = join(store, 'client', 'history.jsonl');
  writeFileSync(history, tookSoLong(readFileSync(history, 'utf8'), KNOWN_MS));
}

function run(
  at: Workshop,
  cwd: string,
  input: string,
  onSaid?: (text: string) => void,
  flags: readonly string[] = [],
): Promise<RanWithSummary> {
  writeFileSync(join(cwd, 'in'), `${input}\n`);
  return at.run([...flags, ...ARGS], {
    cwd,
    onSaid: ({ stderr }) => onSaid?.(stderr),
  });
}

/** Opens the gate when a run waits for another one. */
const openOnWait = (said: string) => {
  if (said.includes('waits for')) gate.open();
};

const leaseFolder = () => join(shop.store, 'client', 'leases');

/** Resolves when a run holds a lease. */
async function isHeld(): Promise<void> {
  while (!existsSync(leaseFolder()) || readdirSync(leaseFolder()).every((name) => name.includes('.')))
    await sleep(20);
}

test('the second run waits for the first, and takes its result', async () => {
  const input = gate.inputOf('a', 0);
  const first = run(shop, shop.workspace, input);
  await isHeld();
  const second = await run(shop, shop.another('b'), input, openOnWait);
  expect(second.summary).toMatchObject({ outcome: 'hit-local', actionLease: 'waited' });
  expect(second.summary.leaseWaitedMs).toBeGreaterThan(0);
  expect(second.stderr).toMatch(/^assay: waits for another run on this machine \(\d+ min \d+ s left\)$/m);
  expect((await first).summary).toMatchObject({ outcome: 'miss', actionLease: 'held', leaseWaitedMs: 0 });
  expect(readdirSync(leaseFolder())).toEqual([]);
});

test('a run whose holder is killed takes the lease', async () => {
  const input = gate.inputOf('k', 0);
  writeFileSync(join(shop.workspace, 'in'), `${input}\n`);
  const [program = '', ...form] = FORMS[CLIENT_FORM];
  const env = { ...baseEnvironment(), ASSAY_STORE: shop.store };
  const holder = spawn(program, [...form, 'run', ...ARGS], { cwd: shop.workspace, env, stdio: 'ignore' });
  await isHeld();
  const { summary } = await run(shop, shop.another('b'), input, (said) => {
    if (!said.includes('waits for')) return;
    holder.kill('SIGKILL');
    gate.open();
  });
  expect(summary).toMatchObject({ outcome: 'miss', actionLease: 'held', exitCode: 0 });
  expect(summary.leaseWaitedMs).toBeGreaterThan(0);
  expect(readFileSync(join(shop.folder, 'b', 'out'), 'utf8')).toBe(`${input}\n`);
});

test('a failure is told to the waiters, who run it themselves', async () => {
  const input = gate.inputOf('f', 3);
  const first = run(shop, shop.workspace, input);
  await isHeld();
  const second = await run(shop, shop.another('b'), input, openOnWait);
  expect((await first).code).toBe(3);
  expect(second.code).toBe(3);
  expect(second.summary).toMatchObject({ outcome: 'miss', actionLease: 'waited' });
  expect(second.summary.warnings).toContain(
    'another run on this machine ran it and failed (exit code 3), so it runs here',
  );
});

describe('what asks for no lease', () => {
  test.each([
    ['--action-lease=off', { ASSAY_ACTION_LEASE: '' }],
    ['--json', { ASSAY_ACTION_LEASE: 'off' }],
  ])('%s %j', async (flag, env) => {
    writeFileSync(join(shop.workspace, 'in'), `${inputOf('off', 0, 0)}\n`);
    const flags = flag === '--json' ? [] : [flag];
    const { summary } = await shop.run([...flags, ...ARGS], { env });
    expect(summary).toMatchObject({ outcome: 'miss', actionLease: 'none', leaseWaitedMs: 0 });
    expect(existsSync(leaseFolder()) && readdirSync(leaseFolder()).length > 0).toBe(false);
  });
});

test('a mode that there is not is refused', async () => {
  const { code, stderr } = await shop.assay(['run', '--action-lease=on', '--', 'true']);
  expect([code, stderr]).toEqual([
    125,
    expect.stringContaining('--action-lease takes auto or off, not "on"'),
  ]);
});

test('while a step of a graph waits, others run, also with --jobs=1', async () => {
  const graph = shop.another('graph');
  const steps = {
    waits: { command: COMMAND.slice(2)[0], inputs: ['in'], outputs: ['out'] },
    other: { command: 'echo other > made', inputs: [], outputs: ['made'] },
  };
  writeFileSync(join(graph, 'assay.json'), JSON.stringify({ steps }));
  // The first run takes the last of two slots, which leaves the other run its only one.
  const events = async (cwd: string) => {
    const jobs = `--jobs=${cwd === graph ? 2 : 1}`;
    const { stdout, stderr } = await shop.assay(['run', jobs, '--json', 'waits', 'other'], {
      cwd,
      onSaid: (said) => said.stdout.includes('step-waits-for-run') && gate.open(),
    });
    const lines = stdout
      .trim()
      .split('\n')
      .map((line): Record<string, unknown> => JSON.parse(line));
    expect(lines.at(-1), stderr).toMatchObject({ type: 'run-finished', exitCode: 0 });
    return lines;
  };
  writeFileSync(join(graph, 'in'), `${inputOf('first', 0, 0)}\n`);
  await events(graph);
  learn(shop);
  const input = gate.inputOf('g', 0);
  const second = shop.another('second');
  cpSync(graph, second, { recursive: true });
  for (const folder of [graph, second]) writeFileSync(join(folder, 'in'), `${input}\n`);
  const first = events(graph);
  await isHeld();
  writeFileSync(
    join(second, 'assay.json'),
    JSON.stringify({ steps: { ...steps, other: { ...steps.other, command: 'echo new > made' } } }),
  );
  const seen = await events(second);
  await first;
  const finished = seen.filter(({ type }) => type === 'step-finished');
  expect(finished.map(({ step, outcome, actionLease }) => [step, outcome, actionLease])).toEqual([
    ['other', 'miss', 'none'],
    ['waits', 'hit-local', 'waited'],
  ]);
  expect(seen.find(({ type }) => type === 'step-waits-for-run')).toMatchObject({ step: 'waits' });
  expect(readFileSync(join(second, 'out'), 'utf8')).toBe(`${input}\n`);
});
