// `assay mcp` as the SDK's own client meets it.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { answerIn } from '../../../test/client/short/answers.ts';
import { DEFAULT_FORM, FORMS, Workshop } from '../../../test/rig/assay.ts';

const [file = '', ...first] = FORMS[DEFAULT_FORM === 'bundle' ? 'executable' : 'source'];

let shop: Workshop;
let client: Client;
beforeEach(async () => {
  shop = new Workshop();
  const command = (text: string, more: object = {}) => ({ command: ['sh', '-c', text], inputs: [], ...more });
  const steps = {
    build: command('cat in > out', { inputs: ['in'], outputs: ['out'] }),
    loud: command('seq 1 20000; printf "a.c:1:2: \\033[31merror:\\007 here\\n" >&2; exit 3'),
    long: command('trap "" TERM INT; echo $$ > pid; sleep 1000 & wait; sleep 1000', { cache: false }),
  };
  shop.write('assay.json', JSON.stringify({ steps }));
  shop.write('in', 'one');
  client = new Client({ name: 'test', version: '1' });
  const env = { PATH: process.env.PATH ?? '', HOME: shop.folder, ASSAY_STORE: shop.store };
  await client.connect(
    new StdioClientTransport({ command: file, args: [...first, 'mcp'], cwd: shop.workspace, env }),
  );
});
afterEach(async () => {
  await client.close();
  shop.remove();
});

async function call(name: string, given: Record<string, unknown> = {}) {
  const { content, isError } = await client.callTool({ name, arguments: given });
  const text = Array.isArray(content) && content[0]?.type === 'text' ? String(content[0].text) : '';
  return { text, isError: isError === true };
}

async function answerOf(name: string, given: Record<string, unknown> = {}) {
  const { text, isError } = await call(name, given);
  expect({ text, isError }).toMatchObject({ isError: false });
  return answerIn(`${text}\n`);
}

test('an agent sees the state, builds, hits, and reads why', async () => {
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual([
    ...['run_step', 'run_affected', 'explain', 'audit', 'status', 'show_log'],
  ]);
  expect(await answerOf('status', { steps: ['build'] })).toMatchObject({ now: { wouldRun: 1 } });
  expect(await answerOf('run_step', { steps: ['build'] })).toMatchObject({
    outcome: 'ok',
    ran: 1,
    run: 'run-1',
  });
  expect(readFileSync(join(shop.workspace, 'out'), 'utf8')).toBe('one');
  expect(await answerOf('run_step', { steps: ['build'] })).toMatchObject({ hits: 1, run: 'run-2' });
  expect(await answerOf('explain', { step: 'build' })).toMatchObject({ answer: 'explain', step: 'build' });
  const audit = await call('audit', { step: 'build' });
  expect(JSON.parse(audit.text)).toMatchObject({ answer: 'audit', lines: expect.any(Array) });
  expect(audit.text.length).toBeLessThan(2048);
});

test('a failure has its first lines, and its log comes in pages', async () => {
  const failed = await answerOf('run_step', { steps: ['loud'] });
  expect(failed).toMatchObject({
    ...{ outcome: 'failed', exitCode: 3, run: 'run-1' },
    failures: [{ tool: 'gcc', lines: [expect.stringContaining('a.c:1:2: error:')] }],
  });
  const page = async (number: number) => {
    const { text } = await call('show_log', { run: 'run-1', step: 'loud', page: number });
    expect(Buffer.byteLength(text)).toBeLessThan(9000);
    const shown: { pages: number; text: string } = JSON.parse(text);
    return shown;
  };
  const { pages } = await page(1);
  expect(pages).toBeGreaterThan(10);
  let log = '';
  for (let number = 1; number <= pages; number++) log += (await page(number)).text;
  const numbers = Array.from({ length: 20_000 }, (_, index) => `${index + 1}\n`).join('');
  expect(log).toBe(`${numbers}a.c:1:2: error:\\u{7} here\n`);
  expect(await call('show_log', { run: 'run-1', step: 'loud', page: pages + 1 })).toMatchObject({
    isError: true,
  });
});

const REFUSED: readonly (readonly [what: string, tool: string, given: Record<string, unknown>])[] = [
  ['a command line', 'run_step', { steps: ['sh -c id'] }],
  ['a flag', 'run_step', { steps: ['--force'] }],
  ['the end of flags', 'run_step', { steps: ['--', 'id'] }],
  ['a glob', 'run_step', { steps: ['*'] }],
  ['no step', 'run_step', {}],
  ['a number as a step', 'run_step', { steps: [7] }],
  ['a git option', 'run_affected', { steps: ['--upload-pack=id'] }],
  ['a path', 'explain', { step: '../x' }],
  ['an unknown run', 'show_log', { run: 'run-9', step: 'build' }],
  ['a path as a run', 'show_log', { run: '../../etc/passwd', step: 'build' }],
  ['a page that is none', 'show_log', { run: 'run-1', step: 'build', page: 0.5 }],
  ['an argument that the tool has not', 'status', { since: 'main' }],
  ['an unknown tool', 'shell', { command: 'id' }],
];

test('a command line, a flag, a path, and whatever else is no declared step is refused, and nothing runs', async () => {
  const noRepository = await call('run_affected', {});
  expect(noRepository).toMatchObject({ isError: true, text: expect.not.stringContaining('"error"') });
  for (const [what, name, given] of REFUSED) {
    const { text, isError } = await call(name, given);
    expect({ what, isError }).toEqual({ what, isError: true });
    expect(text.length).toBeLessThan(1100);
  }
  expect(shop.has('pid') || shop.has('out')).toBe(false);
});

test('run_affected runs what a change may affect', async () => {
  const git = (...args: readonly string[]) => {
    const who = ['-c', 'user.name=t', '-c', 'user.email=t@t'];
    execFileSync('git', [...who, ...args], { cwd: shop.workspace });
  };
  git('init', '-q', '-b', 'main');
  git('add', 'assay.json', 'in');
  git('commit', '-qm', 'all');
  await answerOf('run_step', { steps: ['build'] });
  expect(await answerOf('run_affected', { steps: ['build'] })).toMatchObject({ outcome: 'ok', steps: 0 });
  shop.write('in', 'two');
  expect(await answerOf('run_affected', { steps: ['build'] })).toMatchObject({ outcome: 'ok', ran: 1 });
});

test.each(['cancelled call', 'closed connection'])(
  'a %s ends the command, also one that ignores signals',
  async (how) => {
    const cancel = new AbortController();
    const told: number[] = [];
    const options = { signal: cancel.signal, onprogress: ({ total = 0 }) => void told.push(total) };
    const called = client.callTool(
      { name: 'run_step', arguments: { steps: ['build', 'long'] } },
      undefined,
      options,
    );
    called.catch(() => {});
    const pidFile = join(shop.workspace, 'pid');
    await vi.waitUntil(() => existsSync(pidFile) && readFileSync(pidFile, 'utf8').endsWith('\n'), 90_000);
    await vi.waitUntil(() => told.length > 0, 90_000);
    expect(told[0]).toBe(2);
    if (how === 'cancelled call') cancel.abort();
    else await client.close();
    await expect(called).rejects.toThrow();
    const pid = readFileSync(pidFile, 'utf8').trim();
    await vi.waitUntil(() => !existsSync(`/proc/${pid}`), 90_000);
    if (how === 'cancelled call') expect(await answerOf('status')).toMatchObject({ answer: 'status' });
  },
);
