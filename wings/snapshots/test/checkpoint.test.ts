// Checkpoints of long steps: after a kill, the next run continues from the last one.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { closeSync, cpSync, existsSync, openSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  baseEnvironment,
  DEFAULT_FORM,
  FORMS,
  type Form,
  RUNTIME_FORMS,
  Workshop,
} from '../../../test/rig/assay.ts';
import { Random } from '../../../test/rig/random.ts';
import { ServerProcess } from '../../../test/rig/server.ts';
import { soak } from '../../../test/rig/soak.ts';
import { rot } from '../../../test/rig/stores/rot.ts';

const EXAMPLE = join(import.meta.dirname, '../../../examples/checkpoint');

let shop: Workshop;
const children: ChildProcess[] = [];
const closers: (() => Promise<void>)[] = [];

beforeEach(() => {
  shop = new Workshop();
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const close of closers.splice(0)) await close();
  shop.remove();
});

interface Options {
  readonly cwd?: string;
  readonly store?: string;
  readonly form?: Form;
  readonly args?: readonly string[];
  readonly command: readonly string[];
}

interface Progress {
  readonly child: ChildProcess;
  readonly lines: string[];
  /** The command's lines, as they arrive. */
  onLine(line: (text: string) => void): void;
  readonly ended: Promise<{ code: number | null; stderr: string }>;
}

/** A run that the test observes while it runs. */
function start({
  cwd = shop.workspace,
  store = shop.store,
  form = DEFAULT_FORM,
  args = [],
  command,
}: Options): Progress {
  const [program, ...rest] = [...FORMS[form], 'run', '--json', '--store', store, ...args, '--', ...command];
  const child = spawn(program, rest, { cwd, env: baseEnvironment(), stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  const lines: string[] = [];
  const listeners: ((text: string) => void)[] = [];
  createInterface(child.stdout).on('line', (line) => {
    lines.push(line);
    for (const listener of listeners) listener(line);
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const ended = new Promise<{ code: number | null; stderr: string }>((resolve) => {
    child.once('close', (code) => resolve({ code, stderr }));
  });
  return { child, lines, onLine: (listener) => void listeners.push(listener), ended };
}

const TRAIN = [
  '--input',
  'train.py',
  '--input',
  'points.txt',
  '--output',
  'model.json',
  '--checkpoint',
  'progress',
];
const train = (options: Partial<Options> = {}) =>
  start({
    command: ['python3', 'train.py', 'points.txt', 'model.json'],
    ...options,
    args: [...TRAIN, ...(options.args ?? [])],
  });

const EPOCHS = 40;
const KILLS = soak(20, 2);

test(`killed at ${KILLS} random moments, a run ends with the same result and repeats at most one epoch each time`, {
  timeout: 300_000,
}, async () => {
  const undisturbed = shop.another('undisturbed');
  for (const folder of [shop.workspace, undisturbed]) cpSync(EXAMPLE, folder, { recursive: true });
  const alone = train({ cwd: undisturbed, store: join(shop.folder, 'other'), form: 'executable' });
  expect((await alone.ended).code).toBe(0);
  const random = new Random(20);
  const runs: string[][] = [];
  for (let kill = 0; kill < KILLS; kill++) {
    const running = train({ form: 'executable' });
    // The checkpoint of an epoch is sealed before the line of the next one. So every second kill comes after a seal.
    const epochsBefore = 1 + (kill % 2);
    await new Promise<void>((resolve) => {
      running.onLine(() => {
        if (running.lines.length >= epochsBefore) resolve();
      });
      void running.ended.then(() => resolve());
    });
    await wait(random.below(90));
    running.child.kill('SIGKILL');
    await running.ended;
    runs.push(running.lines);
    expect(existsSync(join(shop.workspace, 'model.json')), 'it was killed before it had finished').toBe(
      false,
    );
  }
  const last = train({ form: 'executable' });
  const { code, stderr } = await last.ended;
  expect(code, stderr).toBe(0);
  expect(stderr).toContain('starting from checkpoint');
  runs.push(last.lines);
  expect(readFileSync(join(shop.workspace, 'model.json'))).toEqual(
    readFileSync(join(undisturbed, 'model.json')),
  );
  const epochs = runs.map((lines) => lines.map((line) => Number(line.split(' ')[1])));
  expect(epochs.at(-1)?.at(-1)).toBe(EPOCHS);
  for (const [at, run] of epochs.slice(1).entries()) {
    const before = epochs[at]?.at(-1) ?? 0;
    expect([before, before + 1], `run ${at + 2} goes on where the one before was`).toContain(run[0]);
  }
});

/** Counts to 4 in a file, with a checkpoint per number; waits at a number while $STOP holds that name. */
const COUNT = [
  '[ "$ASSAY_CHECKPOINT" = 0 ] || echo "from $ASSAY_CHECKPOINT: $(cat state/n)"',
  'n=$(cat state/n 2>/dev/null || echo 0)',
  'while [ $n -lt 4 ]; do',
  '  n=$((n + 1)); [ -z "$PAD" ] || { yes $n | head -c 100000 > pad; mv pad state/pad; }',
  '  echo $n > state/new; mv state/new state/n; echo "at $n"',
  '  : > "$ASSAY_CHECKPOINT_DESK/r.request"; while [ -e "$ASSAY_CHECKPOINT_DESK/r.request" ]; do sleep 0.02; done',
  '  echo "sealed $n"',
  '  if [ -e "$STOP/$n" ]; then while [ -e "$STOP/$n" ]; do sleep 0.05; done; fi',
  'done',
  'echo $n > made',
];

/** A run of the counter that waits after `stopAt`, which is not in its key. */
function count(stopAt: number | undefined, options: Partial<Options> = {}): Progress {
  const stop = join(shop.folder, 'stop');
  rmSync(stop, { recursive: true, force: true });
  if (stopAt !== undefined) shop.write(String(stopAt), '', 0o644, stop);
  const args = ['--output', 'made', '--checkpoint', 'state', '--env', `STOP=${stop}`, '--hermetic', 'off'];
  return start({
    command: ['sh', '-c', COUNT.join('\n')],
    ...options,
    args: [...args, ...(options.args ?? [])],
  });
}

async function killAt(number: number, options: Partial<Options> = {}): Promise<Progress> {
  const running = count(number, options);
  await new Promise<void>((resolve, reject) => {
    running.onLine((line) => line === `sealed ${number}` && resolve());
    void running.ended.then(({ stderr }) => reject(new Error(stderr)));
  });
  running.child.kill('SIGKILL');
  await running.ended;
  return running;
}

describe.each(RUNTIME_FORMS)('%s', (form) => {
  test('a killed run is resumed, and its checkpoints are removed once its result is published', async () => {
    await killAt(2, { form });
    const again = count(undefined, { form });
    expect(await again.ended).toMatchObject({ code: 0 });
    expect(again.lines.slice(0, 2)).toEqual(['from 2: 2', 'at 3']);
    expect(existsSync(join(shop.workspace, 'state'))).toBe(false);
    rmSync(join(shop.workspace, 'made'));
    rmSync(join(shop.store, 'client'), { recursive: true });
    const hit = count(undefined, { form });
    expect((await hit.ended).stderr).toContain('"outcome":"hit-local"');
    expect(readFileSync(join(shop.workspace, 'made'), 'utf8')).toBe('4\n');
  });
});

test('files in the folder that are not a checkpoint of this action are not used', async () => {
  shop.write('state/n', '3');
  const running = count(undefined);
  expect((await running.ended).code).toBe(0);
  expect(running.lines[0]).toBe('at 1');
  await killAt(2, { args: ['--env', 'OTHER=1'] });
  const other = count(undefined, { args: ['--env', 'OTHER=2'] });
  await other.ended;
  expect(other.lines[0]).toBe('at 1');
});

test('a corrupt checkpoint is skipped for the one before', async () => {
  const padded = ['--env', 'PAD=1'];
  await killAt(3, { args: padded });
  rot(shop.store, '3\n'.repeat(50_000));
  const again = count(undefined, { args: padded });
  expect((await again.ended).code).toBe(0);
  expect(again.lines[0]).toBe('from 2: 2');
});

test('the duration of a resumed run is the sum of its parts', async () => {
  const slow = [
    'sh',
    '-c',
    'sleep 0.4; echo x > state/n; : > "$ASSAY_CHECKPOINT_DESK/r.request"; while [ -e "$ASSAY_CHECKPOINT_DESK/r.request" ]; do sleep 0.02; done; [ -e "$GO" ] || exit 1; echo > made',
  ];
  const go = join(shop.folder, 'go');
  const args = ['--output', 'made', '--checkpoint', 'state', '--env', `GO=${go}`, '--hermetic', 'off'];
  const piece = async () => {
    const { stderr } = await start({ command: slow, args }).ended;
    return JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '');
  };
  const first = await piece();
  shop.write('../go', '');
  const second = await piece();
  expect(second.published).toBe(true);
  expect(second.commandMs).toBeGreaterThanOrEqual(400 + 400);
  rmSync(join(shop.workspace, 'made'));
  expect(await piece()).toMatchObject({ outcome: 'hit-local', commandMs: second.commandMs });
  expect(first.exitCode).toBe(1);
});

test('another machine with the same remote resumes the run', async () => {
  const server = await ServerProcess.start(join(shop.folder, 'server'));
  closers.push(() => server.stop());
  const remote = ['--remote', server.url];
  const running = count(3, { args: remote });
  await new Promise<void>((resolve) => running.onLine((line) => line === 'sealed 3' && resolve()));
  await sharedCheckpoint(server.url, 3);
  running.child.kill('SIGKILL');
  await running.ended;
  const elsewhere = shop.another('elsewhere');
  const again = count(undefined, { cwd: elsewhere, store: join(shop.folder, 'store-2'), args: remote });
  expect((await again.ended).code).toBe(0);
  expect(again.lines[0]).toBe('from 3: 3');
});

/** A proxy that holds uploads of checkpoints until `let` is called. */
async function slowTo(url: string): Promise<{ url: string; let: () => void }> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method = 'GET', url: path = '' } = request;
    if (method === 'PUT' && path.startsWith('/checkpoint/')) await promise;
    const body = method === 'PUT' ? { body: new Uint8Array(Buffer.concat(chunks)) } : {};
    const got = await fetch(url + path, { method, ...body });
    response.writeHead(got.status).end(Buffer.from(await got.arrayBuffer()));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  closers.push(async () => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, let: resolve };
}

test('if checkpoints are sealed faster than they are uploaded, the newest is uploaded next', async () => {
  const server = await ServerProcess.start(join(shop.folder, 'server'));
  closers.push(() => server.stop());
  const slow = await slowTo(server.url);
  // With this many bytes the client tolerates some seconds of silence.
  const running = count(4, { args: ['--remote', slow.url, '--env', 'PAD=1'] });
  await new Promise<void>((resolve) => running.onLine((line) => line === 'sealed 4' && resolve()));
  slow.let();
  await sharedCheckpoint(server.url, 4);
  running.child.kill('SIGKILL');
  expect((await running.ended).stderr).toContain('the remote is behind: it has no checkpoint of this run');
  const puts = /route="labels",method="PUT",status="2xx"\} (\d+)/;
  expect(puts.exec(await (await fetch(`${server.url}/metrics`)).text())?.[1]).toBe('2');
});

test('a finished run does not wait for the upload of useless checkpoints', async () => {
  const server = await ServerProcess.start(join(shop.folder, 'server'));
  closers.push(() => server.stop());
  const slow = await slowTo(server.url);
  const { stderr, code } = await count(undefined, { args: ['--remote', slow.url, '--keep-unproven=shared'] })
    .ended;
  expect(code).toBe(0);
  const { shared, warnings } = JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '');
  expect(shared).toBe(true);
  expect(warnings.filter((text: string) => text.includes('not usable'))).toEqual([]);
});

/** Uploads run in the background; a superseded checkpoint is not uploaded. */
async function sharedCheckpoint(url: string, number: number): Promise<void> {
  for (;;) {
    const answer = await fetch(`${url}/labels/v1/checkpoint?prefix=`);
    if (answer.ok && (await answer.text()).includes(`/${number}"`)) return;
    await wait(20);
  }
}

test('checkpoints are sealed at the interval without a request', async () => {
  const fifo = join(shop.folder, 'fifo');
  execFileSync('mkfifo', [fifo]);
  const command = ['sh', '-c', 'echo one > state/n; echo ready; cat "$FIFO"'];
  const args = [
    '--checkpoint',
    'state',
    '--checkpoint-interval',
    '1',
    '--env',
    `FIFO=${fifo}`,
    '--hermetic=off',
  ];
  const ready = ({ onLine }: Progress) => new Promise<void>((resolve) => onLine(() => resolve()));
  const after = async (ms: number) => {
    const running = start({ command, args });
    await ready(running);
    await wait(ms);
    running.child.kill('SIGKILL');
    return (await running.ended).stderr;
  };
  // A busy machine may be slow.
  for (const ms of [1500, 4000, 12_000]) {
    await after(ms);
    if ((await after(0)).includes('starting from checkpoint')) break;
  }
  expect(await after(0)).toContain('starting from checkpoint 1');
  // The commands survived the killed runs: this file ends them.
  closeSync(openSync(fifo, 'r+'));
});

test('assay checkpoint prints the number, and outside of a step nothing', async () => {
  const [program, ...rest] = FORMS.executable;
  const command = [
    'sh',
    '-c',
    `echo x > state/x; echo "got $(${[program, ...rest].join(' ')} checkpoint)"; touch made`,
  ];
  const running = start({
    command,
    args: ['--output', 'made', '--checkpoint', 'state', '--hermetic', 'off'],
  });
  expect((await running.ended).code).toBe(0);
  expect(running.lines).toEqual(['got 1']);
  const outside = await shop.assay(['checkpoint']);
  expect(outside).toMatchObject({ code: 0, stdout: '' });
  expect(outside.stderr).toContain('no checkpoint');
});

const ASK =
  ': > "$ASSAY_CHECKPOINT_DESK/r.request"; while [ -e "$ASSAY_CHECKPOINT_DESK/r.request" ]; do sleep 0.02; done';

test('a second attempt starts without the unsealed files of the first', async () => {
  const source = shop.write('leak.c', 'int main(void) { return 0; }\n');
  execFileSync('gcc', ['-fsanitize=address', '-o', join(shop.workspace, 'leak'), source]);
  const script = 'echo "from $ASSAY_CHECKPOINT" >> state/log; ./leak && cp state/log made';
  const args = ['--input', 'leak', '--output', 'made', '--checkpoint', 'state'];
  const { code, stderr } = await start({ command: ['sh', '-c', script], args }).ended;
  expect(code, stderr).toBe(0);
  expect(stderr).toContain('it runs once more');
  expect(readFileSync(join(shop.workspace, 'made'), 'utf8')).toBe('from 0\n');
});

test('folders that are swapped with each other cause a new checkpoint', async () => {
  const answer = 'cat "$ASSAY_CHECKPOINT_DESK/r.answer"; echo';
  const script = [
    'if [ "$ASSAY_CHECKPOINT" != 0 ]; then cat a/x b/x c/x; exit 0; fi',
    `echo 1 > a/x; echo 2 > b/x; echo 1 > c/x; ${ASK}; ${answer}`,
    `echo 2 > c/x; ${ASK}; ${answer}; exit 1`,
  ];
  const folders = ['a', 'b', 'c'].flatMap((name) => ['--checkpoint', name]);
  const options = { command: ['sh', '-c', script.join('\n')], args: [...folders, '--hermetic=off'] };
  const first = start(options);
  await first.ended;
  expect(first.lines).toEqual(['1', '2']);
  const again = start(options);
  expect((await again.ended).code).toBe(0);
  expect(again.lines).toEqual(['1', '2', '2']);
});

test('two concurrent runs of one action each keep the checkpoints that they sealed', async () => {
  const script = [
    'if [ "$ASSAY_CHECKPOINT" != 0 ]; then cat state/n; exit 0; fi',
    'echo ready; while [ ! -e word ]; do sleep 0.02; done',
    `cp word state/n; ${ASK}; cat "$ASSAY_CHECKPOINT_DESK/r.answer"; echo; exit 1`,
  ];
  const command = ['sh', '-c', script.join('\n')];
  const args = ['--checkpoint', 'state', '--hermetic=off'];
  const folders = [shop.workspace, shop.another('other')];
  const runs = folders.map((cwd) => ({ cwd, ...start({ command, args, cwd }) }));
  await Promise.all(runs.map(({ onLine }) => new Promise<void>((resolve) => onLine(() => resolve()))));
  const numbers: (string | undefined)[] = [];
  for (const [at, { cwd, ended, lines }] of runs.entries()) {
    shop.write('new', `${at}\n`, 0o644, cwd);
    renameSync(join(cwd, 'new'), join(cwd, 'word'));
    await ended;
    numbers.push(lines.at(-1));
  }
  expect(numbers).toEqual(['1', '2']);
  const again = start({ command, args });
  expect((await again.ended).code).toBe(0);
  expect(again.lines).toEqual(['1']);
});

test('a step that only writes its checkpoint folder is hermetic', async () => {
  const script = [
    'cat state/n 2> /dev/null; echo 1 > state/new; mv state/new state/n',
    ': > "$ASSAY_CHECKPOINT_DESK/r.request"; while [ -e "$ASSAY_CHECKPOINT_DESK/r.request" ]; do sleep 0.02; done',
    'cp state/n made',
  ];
  const args = ['--output', 'made', '--checkpoint', 'state', '--hermetic=strict'];
  const { code, stderr } = await start({ command: ['sh', '-c', script.join('\n')], args }).ended;
  expect(code, stderr).toBe(0);
});

test.each<[string, string[], string]>([
  ['a checkpoint that is an output', ['--output', 'a', '--checkpoint', 'a'], 'ASSAY_OUTPUT_OVERLAP'],
  ['a checkpoint inside an output', ['--output', 'a', '--checkpoint', 'a/b'], 'ASSAY_OUTPUT_OVERLAP'],
  ['a checkpoint outside', ['--checkpoint', '../x'], 'ASSAY_BAD_PATH'],
  [
    'a checkpoint in a sandbox',
    ['--checkpoint', 'a', '--sandbox'],
    '--sandbox cannot be used with checkpoints',
  ],
  ['a checkpoint with observed inputs', ['--checkpoint', 'a', '--inputs=observed'], 'from other inputs'],
  ['no interval', ['--checkpoint', 'a', '--checkpoint-interval', '0'], 'whole number'],
])('%s is refused with a message', async (_name, args, words) => {
  const ran = await shop.assay(['run', ...args, '--', 'true']);
  expect(ran.code).toBe(125);
  expect(ran.stderr).toContain(words);
});

test('a step of assay.json can have checkpoints', async () => {
  const script = [
    'echo "from $ASSAY_CHECKPOINT"; [ -e state/n ] && exec cp state/n made',
    'echo 1 > state/new; mv state/new state/n; : > "$ASSAY_CHECKPOINT_DESK/r.request"',
    'while [ -e "$ASSAY_CHECKPOINT_DESK/r.request" ]; do sleep 0.02; done; exit 1',
  ];
  shop.write('step.sh', script.join('\n'));
  const step = {
    command: ['sh', 'step.sh'],
    inputs: ['**'],
    outputs: ['made'],
    checkpoint: { folders: ['state'], every: '1h' },
  };
  shop.write('assay.json', JSON.stringify({ steps: { long: step } }));
  const first = await shop.assay(['run', '--logs=stream', 'long']);
  expect(first.code).toBe(1);
  const again = await shop.assay(['run', '--logs=stream', 'long']);
  expect(again.code, again.stderr).toBe(0);
  expect(again.stdout + again.stderr).toContain('from 1');
  expect(readFileSync(join(shop.workspace, 'made'), 'utf8')).toBe('1\n');
});
