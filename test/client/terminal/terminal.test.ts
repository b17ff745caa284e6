// Colour only on a terminal that supports it, in all three forms of Assay, and none in a pipe.
import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { RUNTIME_FORMS, type RunOptions, Workshop } from '../../rig/assay.ts';
import { testServer } from '../../server/rig.ts';

/** `script` gives the command a terminal and copies its output to standard output. */
const ON_TERMINAL = ['sh', '-c', 'exec script -qec "$*" /dev/null', 'sh'];
const COLOUR = '\x1b[';
/** What redraws the lines of running steps. */
const CURSOR = new RegExp(`${String.fromCharCode(27)}\\[\\d*[AJ]`, 'g');

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
  shop.write('assay.json', '{ "steps": { "build": { "command": "touch built", "outputs": ["built"] } } }');
});

afterEach(() => shop.remove());

async function seen(args: readonly string[], { env, ...options }: RunOptions): Promise<string> {
  const { stdout } = await shop.assayIn(ON_TERMINAL, args, { ...options, env: { TERM: 'xterm', ...env } });
  return stdout;
}

describe.each(RUNTIME_FORMS)('%s', (form) => {
  test.each<[string, string[], string]>([
    ['a command', ['run', '--hermetic=off', '--', 'true'], 'miss'],
    ['a step', ['run', 'build'], 'ran'],
    ['the report of doctor', ['doctor'], 'store'],
  ])('%s is coloured on a terminal', async (_name, args, word) => {
    const onTerminal = await seen(args, { form });
    expect(onTerminal).toContain(word);
    expect(onTerminal).toContain(COLOUR);
  });
});

test.each<[string, Record<string, string>]>([
  ['NO_COLOR', { NO_COLOR: '1' }],
  ['TERM=dumb', { TERM: 'dumb' }],
])('%s turns colour off', async (_name, env) => {
  expect(await seen(['run', '--hermetic=off', '--', 'true'], { env })).not.toContain(COLOUR);
  expect(await seen(['run', 'build'], { env })).not.toContain(`${COLOUR}3`);
  expect(await seen(['doctor'], { env })).not.toContain(COLOUR);
});

test('output to a pipe has no colour', async () => {
  const { stdout, stderr } = await shop.assay(['run', 'build'], { env: { TERM: 'xterm' } });
  expect(stdout + stderr).toContain('ran');
  expect(stdout + stderr).not.toContain(COLOUR);
});

test.each(RUNTIME_FORMS)('help of the %s breaks no word on a narrow terminal', async (form) => {
  const narrow = ['sh', '-c', 'exec script -qec "stty cols 70; $*" /dev/null', 'sh'];
  const { stdout } = await shop.assayIn(narrow, ['stats', '--help'], { form, env: { TERM: 'xterm' } });
  const piped = await shop.assay(['stats', '--help'], { form });
  const lines = stdout.replaceAll('\r', '').split('\n');
  expect(lines.filter((line) => line.length > 70)).toEqual([]);
  expect(lines).toContain('Shows the hit rate, the time saved and the bytes moved by runs in this');
  expect(stdout.split(/\s+/)).toEqual(piped.stdout.split(/\s+/));
  expect(piped.stdout.split('\n').some((line) => line.length > 100)).toBe(true);
});

describe.each([80, 60])('on a terminal of %i columns', (columns) => {
  const narrow = ['sh', '-c', `exec script -qec "stty cols ${columns}; $*" /dev/null`, 'sh'];

  async function linesOf(args: readonly string[]): Promise<string[]> {
    const { stdout } = await shop.assayIn(narrow, args, { env: { TERM: 'xterm', NO_COLOR: '1' } });
    return stdout.replaceAll('\r', '').split('\n');
  }

  test.each<[string, string[]]>([
    [
      'the warning and the summary of a command',
      ['run', '--remote', 'http://127.0.0.1:9', '--output', 'x', '--', 'touch', 'x'],
    ],
    ['the summary of steps', ['run', '--remote', 'http://127.0.0.1:9', 'build']],
    ['the report of doctor', ['doctor', '--remote', 'http://127.0.0.1:9']],
  ])('%s breaks no word', async (_name, args) => {
    const lines = await linesOf(args);
    expect(lines.join(' ').split(/\s+/)).toContain('ECONNREFUSED');
    const printed = lines.map((line) => line.replaceAll(CURSOR, ''));
    expect(printed.filter((line) => line.length > columns && /\S\s+\S/.test(line.trim()))).toEqual([]);
  });
});

test('in a pipe, each message of a run is one line', async () => {
  const args = ['run', '--remote', 'http://127.0.0.1:9', '--output', 'x', '--', 'touch', 'x'];
  const { stderr } = await shop.assay(args, { env: { TERM: 'xterm', COLUMNS: '60' } });
  const lines = stderr.trimEnd().split('\n');
  expect(lines.filter((line) => !line.startsWith('assay: '))).toEqual([]);
  expect(lines.some((line) => line.length > 100)).toBe(true);
});

describe('text from outside', () => {
  const CONTROL = /(?!\n)\p{Cc}/u;
  const PATH = 'a\nFORGED b';

  test('a server’s header moves no cursor', async () => {
    const server = await testServer();
    const proxy = createServer((request, response) => {
      const { method, url = '', headers } = request;
      const onward = httpRequest(server.url + url, { method, headers }, (answer) => {
        const namespace = { 'assay-namespace': '\x9b2J\x9b31mteam' };
        response.writeHead(answer.statusCode ?? 500, { ...answer.headers, ...namespace });
        answer.pipe(response);
      });
      request.pipe(onward);
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void proxy.close());
    await once(proxy, 'listening');
    const env = { ASSAY_REMOTE: `http://127.0.0.1:${Object(proxy.address()).port}` };
    const step = ['-v', '--output', 'out', '--', 'sh', '-c', 'echo 1 > out'];
    await shop.assay(['run', ...step], { env });
    const second = await shop.assay(['run', ...step], {
      env: { ...env, ASSAY_STORE: `${shop.folder}/other` },
    });
    expect(second.stderr).toContain('found in ');
    expect(second.stderr).not.toMatch(CONTROL);
  });

  test('a line break in the path of an output or an input starts no line', async () => {
    const said: string[] = [];
    const run = async () => {
      const flags = ['--input', 'a*', '--output', `out ${PATH}`, '--', 'sh', '-c', `echo 1 > 'out ${PATH}'`];
      const { stdout, stderr } = await shop.assay(['run', ...flags]);
      said.push(stdout, stderr);
    };
    shop.write(PATH, 'one');
    await run();
    shop.write(PATH, 'two');
    await run();
    for (const command of ['show', 'explain']) said.push((await shop.assay([command])).stdout);
    expect(said.join()).toContain('FORGED');
    expect(said.join()).not.toMatch(/^FORGED/m);
  });
});
