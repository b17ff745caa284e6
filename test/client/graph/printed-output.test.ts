// The output of a graph run for people and machines: interruptions, logs byte by byte, time saved, CI
// sections.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { plain } from '../../../client/terminal/colour.ts';
import { ciSyntax } from '../../../client/view/ci.ts';
import type { StepEnd } from '../../../client/view/events.ts';
import { LogPrinter } from '../../../client/view/log-printer.ts';
import { stepLine } from '../../../client/view/words.ts';
import { baseEnvironment, FORMS, Workshop } from '../../rig/assay.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
  shop.write('in.txt', 'input');
});
afterEach(() => shop.remove());

const inputs = ['in.txt'];
const configure = (steps: object) => shop.write('assay.json', JSON.stringify({ steps }));

test('Ctrl-C is reported as an interruption, not as a failure', async () => {
  configure({
    long: { command: 'echo > begun; while :; do sleep 0.05; done', inputs, outputs: ['begun'] },
    next: { command: 'true', inputs, dependsOn: ['long'] },
  });
  const [program, ...before] = FORMS.source;
  const child = spawn(program, [...before, 'run', '--summary', 'summary.json', 'long', 'next'], {
    cwd: shop.workspace,
    env: { ...baseEnvironment(), ASSAY_STORE: shop.store },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  await expect.poll(() => shop.has('begun')).toBe(true);
  child.kill('SIGINT');
  expect(await once(child, 'close')).toEqual([130, null]);
  expect(said).toMatch(/assay: long {2}interrupted [0-9a-f]{12} after/);
  expect(said).toMatch(/assay: 2 steps: 1 interrupted, 1 skipped;/);
  expect(said).not.toContain('failed');
  const summary = JSON.parse(readFileSync(join(shop.workspace, 'summary.json'), 'utf8'));
  expect(summary).toMatchObject({ interrupted: 1, failed: 0, skipped: 1, exitCode: 130 });
});

test('docs/EVENTS.md describes every field of the JSON events', async () => {
  configure({
    good: { command: 'cp in.txt out', inputs, outputs: ['out'] },
    bad: { command: 'exit 3', inputs },
    behind: { command: 'true', inputs, dependsOn: ['bad'] },
    absent: { command: ['no-such-program'], inputs },
  });
  const { stdout } = await shop.assay(['run', '--json', '--keep-going', 'good', 'behind', 'absent']);
  const page = readFileSync(join(import.meta.dirname, '../../../docs/EVENTS.md'), 'utf8');
  const events: Record<string, unknown>[] = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const fields = new Set(events.flatMap((event) => Object.keys(event)));
  expect([...fields].filter((field) => field !== 'type' && !page.includes(`\`${field}\``))).toEqual([]);
});

describe('the printed text', () => {
  const hit: StepEnd = {
    step: 'a',
    outcome: 'hit-local',
    exitCode: 0,
    reason: '',
    published: false,
    shared: false,
    outputsWritten: 0,
    commandMs: 10,
    elapsedMs: 12,
  };

  test('a hit that saved no time does not mention it', () => {
    expect(stepLine(hit, plain, false)).toBe('a  hit (local)');
    expect(stepLine({ ...hit, commandMs: 1012 }, plain, false)).toBe('a  hit (local), saved 1.0 s');
  });

  test('a log keeps bytes that are not UTF-8, line by line', () => {
    const said: Buffer[] = [];
    const stream = { write: (bytes: string | Uint8Array) => said.push(Buffer.from(bytes)) };
    const printer = new LogPrinter('stream', { stdout: stream, stderr: stream });
    for (const bytes of [Buffer.from([0xff, 0x0a, 0x0a, 0xc3]), Buffer.from([0xa4, 0xfe])])
      printer.handle({ type: 'step-log', step: 'a', stream: 'stdout', bytes });
    printer.forget('a');
    expect(Buffer.concat(said).toString('latin1')).toBe('a: \xff\na: \na: \xc3\xa4\xfe\n');
  });

  test('GitLab sections collapse successful steps, and nothing else', () => {
    const gitlab = ciSyntax({ GITLAB_CI: 'true' });
    expect(gitlab?.groupStart('a', 0, false)).toContain('[collapsed=true]');
    expect(gitlab?.groupStart('a', 0, true)).toContain('[collapsed=false]');
  });
});
