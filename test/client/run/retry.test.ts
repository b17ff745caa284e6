// --retry: a command that failed runs again with the same facts, and what comes of it tells a flaky one from a broken one.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { baseEnvironment, DEFAULT_FORM, FORMS, summaryOf, Workshop } from '../../rig/assay.ts';
import { runSteps } from '../../rig/graph.ts';
import { answerIn } from '../short/answers.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
  shop.write('in', 'one');
});
afterEach(() => shop.remove());

const configure = (command: string, more: object = {}) =>
  shop.write(
    'assay.json',
    JSON.stringify({ steps: { test: { command: ['bash', '-c', command], inputs: ['in'], ...more } } }),
  );
const run = (...flags: readonly string[]) => runSteps(shop, [...flags, 'test']);

/**
 * Repeats a run of a command that ends by chance, until its tries ended in two ways. Each run has an input of its own: the
 * first result of a key stays, and it may be of a run that passed at once.
 */
async function untilFlaky() {
  for (let at = 0; ; at++) {
    shop.write('in', `run ${at}`);
    const ran = await run('--force', '--retry=20');
    if (ran.ends.test?.tries?.verdict === 'flaky') return ran;
  }
}

test('a flaky step succeeds, is marked, and its result has nothing of the try that failed', async () => {
  const leaks = 'test -e out && exit 9; test -e "$HOME/left" && exit 8; touch "$HOME/left"';
  configure(`${leaks}; code=$((RANDOM % 2 * 3)); echo "code $code"; echo "$code" > out; exit $code`, {
    outputs: ['out'],
  });
  const { ends, summary, events, code } = await untilFlaky();
  const exitCodes = ends.test?.tries?.exitCodes ?? [];
  expect(new Set(exitCodes.slice(0, -1)), 'outputs and scratch files of a failed try are away').toEqual(
    new Set([3]),
  );
  expect(ends.test).toMatchObject({
    outcome: 'miss',
    exitCode: 0,
    published: true,
    tries: { exitCodes: [...exitCodes.slice(0, -1), 0], verdict: 'flaky' },
  });
  expect([code, summary.flaky, readFileSync(join(shop.workspace, 'out'), 'utf8')]).toEqual([0, 1, '0\n']);
  const retried = events.filter(({ type }) => type === 'step-retried');
  expect(retried).toHaveLength(exitCodes.length - 1);
  expect(retried[0]).toMatchObject({ step: 'test', exitCode: 3, attempt: 2, of: 21 });
  const explained = await shop.assay(['explain', 'test']);
  expect(explained.stdout).toContain('flaky');

  const hit = await run();
  expect(hit.ends.test).toMatchObject({ outcome: 'hit-local', receipt: { tries: exitCodes.length } });
  expect(hit.ends.test?.tries, 'a hit tried nothing').toBeUndefined();
  const logs = hit.events.filter(({ type }) => type === 'step-log').map(({ text }) => text);
  expect(logs.join('')).toBe('code 0\n');
});

test('a broken step fails each time, and the short answer tells the last try', async () => {
  configure('echo "error: no" >&2; exit 3');
  const { ends, summary, code } = await run('--retry=2');
  expect(ends.test).toMatchObject({
    outcome: 'failed',
    exitCode: 3,
    tries: { exitCodes: [3, 3, 3], verdict: 'broken' },
  });
  expect([code, summary.flaky]).toEqual([3, undefined]);
  const short = await shop.assay(['run', '--json=short', '--retry=1', 'test']);
  expect(answerIn(short.stdout)).toMatchObject({
    failures: [{ reason: 'it ended with 3 in each of 2 tries', lines: ['error: no'] }],
  });
});

test('a step that reads what its failed try left is not flaky', async () => {
  configure('test -e stamp && exit 0; touch stamp; exit 3');
  const { ends, summary } = await run('--retry=1');
  expect(ends.test).toMatchObject({
    outcome: 'miss',
    tries: { exitCodes: [3, 0], verdict: 'changed', changed: 'stamp had changed' },
  });
  expect(summary.flaky).toBeUndefined();
});

test.each([
  ['a signal', 'kill -9 $$', /signal or a timeout/],
  ['a signal that a shell reports', 'exit 137', /signal or a timeout/],
  ['a timeout', 'timeout 0.01 sleep 5', /signal or a timeout/],
  ['a changed input', 'echo two > in; exit 3', /input/],
])('a failure by %s is not run again, and that is said', async (_, command, why) => {
  configure(command);
  const { ends, events } = await run('--retry=3');
  expect(ends.test?.outcome).toBe('failed');
  expect(ends.test?.tries).toBeUndefined();
  const said = events.filter(({ type }) => type === 'step-warning').map(({ text }) => text);
  expect(said.join('\n')).toMatch(/not run again: /);
  expect(said.join('\n')).toMatch(why);
});

test('a command that an interrupt ended is not run again, also if it ends by itself', async () => {
  const began = join(shop.workspace, 'began');
  const command = `trap 'exit 1' TERM; echo x >> ${began}; while :; do sleep 0.05; done`;
  const [program, ...before] = FORMS[DEFAULT_FORM];
  const child = spawn(program, [...before, 'run', '--retry=3', '--', 'bash', '-c', command], {
    cwd: shop.workspace,
    env: { ...baseEnvironment(), ASSAY_STORE: shop.store },
    stdio: 'ignore',
  });
  await expect.poll(() => existsSync(began) && readFileSync(began, 'utf8')).toBe('x\n');
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([1, null]);
  expect(readFileSync(began, 'utf8')).toBe('x\n');
});

test('a kept failure is replayed for a run that would try no more often', async () => {
  configure('exit 3', { cacheFailures: 'local' });
  expect((await run('--retry=2')).ends.test).toMatchObject({ tries: { exitCodes: [3, 3, 3] } });
  const again = await run('--retry=2');
  expect(again.ends.test).toMatchObject({ outcome: 'failed', replayed: true, receipt: { tries: 3 } });
  expect((await run('--retry=3')).ends.test?.tries?.exitCodes).toHaveLength(4);
});

test('a failure of tries that ended in two ways is not kept', async () => {
  configure('exit $((RANDOM % 2 + 3))', { cacheFailures: 'local' });
  const { ends } = await untilFlaky();
  expect(ends.test).toMatchObject({ outcome: 'failed', tries: { verdict: 'flaky' } });
  expect(ends.test?.notPublished).toMatch(/^flaky: it failed with /);
});

test('one command outside of a graph', async () => {
  const ran = await shop.assay(['run', '--json', '--retry=1', '--', 'sh', '-c', 'exit 4']);
  expect(ran.code).toBe(4);
  expect(summaryOf(ran)).toMatchObject({ tries: { exitCodes: [4, 4], verdict: 'broken' } });
  expect(ran.stderr).toContain('failed with 4 and runs again, try 2 of 2');
  const refused = await shop.assay(['run', '--retry=21', '--', 'true']);
  expect(refused).toMatchObject({ code: 125 });
});
