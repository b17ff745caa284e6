// Answers about a graph of 1,000 steps stay small, and `assay status` tells what a run would do.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { answerIn } from '../../../test/client/short/answers.ts';
import { Workshop } from '../../../test/rig/assay.ts';
import { statusAnswer } from '../status/answer.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
});
afterEach(() => shop.remove());

const configure = (steps: object) => shop.write('assay.json', JSON.stringify({ steps }));
const step = (command: string, more: object = {}) => ({
  command: ['sh', '-c', command],
  inputs: [],
  ...more,
});
const answerOf = async (...args: readonly string[]) => {
  const { stdout, stderr } = await shop.assay(args);
  expect(stderr).toBe('');
  return answerIn(stdout);
};

test('run, explain and status answer in less than 2 KiB about a graph of 1,000 steps', async () => {
  const name = 'a-step-with-a-long-name-that-says-what-it-is-about-'.repeat(4);
  const behind = Array.from({ length: 999 }, (_, at) => [
    `${name}${at}`,
    step('true', { dependsOn: ['first'] }),
  ]);
  const first = step('echo "FAIL: \\033[31mthis is what is wrong\\007" >&2; exit 3');
  configure({ first, ...Object.fromEntries(behind) });
  expect(await answerOf('run', '--json=short', '*')).toMatchObject({
    ...{ answer: 'run', outcome: 'failed', exitCode: 3, steps: 1000, failed: 1, skipped: 999 },
    failures: [{ step: 'first', exitCode: 3, lines: ['FAIL: this is what is wrong'] }],
  });
  expect(await answerOf('explain', '--json=short', 'first')).toMatchObject({
    ...{ answer: 'explain', step: 'first', outcome: 'miss', exitCode: 3 },
  });
  expect(await answerOf('status', '--json')).toMatchObject({
    ...{ answer: 'status', steps: 1000, now: { upToDate: 0, stored: 0, wouldRun: 1, unknown: 999 } },
    last: { failed: 1, other: 999, hit: 0, ran: 0, never: 0 },
    attention: [{ step: 'first', last: 'failed', now: 'would-run' }],
    next: 'assay run --json=short first',
  });
});

test('status tells which step is in place, stored, to be run, or behind one', async () => {
  const made = { outputs: ['made'] };
  configure({
    make: step('cat in > made', { ...made, inputs: ['in'] }),
    use: step('cat made', { inputs: ['made'], dependsOn: ['make'] }),
    never: step('true', { cache: false }),
  });
  shop.write('in', 'one');
  const now = async () => (await answerOf('status', '--json')).now;
  expect(await now()).toEqual({ upToDate: 0, stored: 0, wouldRun: 2, unknown: 1 });
  await answerOf('run', '--json=short', 'use');
  expect(await now()).toEqual({ upToDate: 2, stored: 0, wouldRun: 1, unknown: 0 });
  const hit = await answerOf('run', '--json=short', 'use');
  expect(hit).toMatchObject({ outcome: 'ok', hits: 2, ran: 0, next: 'assay status' });
  expect(JSON.stringify(hit.receipts)).toContain('from 1 input; declared; compared just now');
  shop.write('made', 'not what the step makes');
  expect(await now()).toEqual({ upToDate: 0, stored: 1, wouldRun: 1, unknown: 1 });
  shop.write('in', 'two');
  const { attention } = await answerOf('status', '--json');
  expect(attention).toMatchObject([
    { step: 'make', last: 'hit-local', now: 'would-run', why: 'in changed' },
    { step: 'never', now: 'would-run' },
  ]);
  const { stdout } = await shop.assay(['status', 'make']);
  expect(stdout).toMatch(
    /^make {2}would run: in changed \(last hit-local at .*\)\nstore .* free\nremote {2}none\n$/,
  );
});

test('status tells a remote that does not answer, without its password', async () => {
  configure({ one: step('true') });
  const remote = 'http://name:secret@127.0.0.1:1/';
  const { stdout } = await shop.assay(['status', '--json', '--remote', remote]);
  expect(answerIn(stdout)).toMatchObject({
    remote: { url: 'http://127.0.0.1:1/', usable: false, waiting: 0 },
  });
});

test('a command without a step has a short answer, and no line of its log is printed', async () => {
  const ran = await shop.assay([
    'run',
    '--json=short',
    '--',
    'sh',
    '-c',
    'echo out; echo a.c:1:2: error: x >&2; exit 4',
  ]);
  expect(ran).toMatchObject({ code: 4, stderr: '' });
  const answer = answerIn(ran.stdout);
  expect(answer).toMatchObject({ failures: [{ tool: 'gcc', lines: ['a.c:1:2: error: x'], exitCode: 4 }] });
  const explained = await shop.assay(String(answer.next).split(' ').slice(1));
  expect(explained).toMatchObject({ code: 0, stdout: expect.stringContaining('outcome  miss') });
});

test.each([
  ['--json=long', 'ASSAY_USAGE: --json takes short'],
  ['--json=short --dry-run', '`assay status --json` tells what would hit'],
])('run %s is refused', async (flags, words) => {
  configure({ one: step('true') });
  const { code, stdout, stderr } = await shop.assay(['run', ...flags.split(' '), 'one']);
  expect({ code, stdout }).toEqual({ code: 125, stdout: '' });
  expect(stderr).toContain(words);
});

test('1,000 steps with long names and reasons fit', () => {
  const steps = Array.from({ length: 1000 }, (_, at) => ({
    ...{ step: `${'"'.repeat(300)}${at}`, now: 'would-run' as const, why: '\u0000é\u202e'.repeat(500) },
    ...{ last: 'failed' as const, at: '2026-11-19T10:00:00.000Z' },
  }));
  const folder = '/é'.repeat(2000);
  const remote = { url: 'http://x/'.repeat(300), usable: false, why: '\u001b'.repeat(900), waiting: 12 };
  const answer = answerIn(statusAnswer({ steps, store: { folder }, remote }));
  expect(Number(answer.moreAttention)).toBeGreaterThan(980);
});
