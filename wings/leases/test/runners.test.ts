// Runners with stores and folders of their own, and one server: a long action that all miss at once runs once. Whatever
// happens to its holder, each runner ends with the right outputs, and no failure is handed on.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { baseEnvironment, DEFAULT_FORM, FORMS, Workshop } from '../../../test/rig/assay.ts';
import { Random } from '../../../test/rig/random.ts';
import { ServerProcess } from '../../../test/rig/server.ts';
import { soak } from '../../../test/rig/soak.ts';

let shop: Workshop;
let server: ServerProcess;
const children: ChildProcess[] = [];

beforeEach(async () => {
  shop = new Workshop();
  server = await ServerProcess.start(join(shop.folder, 'server'));
});

afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill('SIGCONT');
    child.kill('SIGKILL');
  }
  await server.stop();
  shop.remove();
});

interface Finished {
  readonly step: string;
  readonly outcome: string;
  readonly actionLease: string;
  readonly leaseWaitedMs: number;
}

interface Ended {
  readonly code: number | null;
  readonly finished: readonly Finished[];
  readonly stderr: string;
}

interface Running {
  readonly child: ChildProcess;
  /** All that it has said. */
  said(): string;
  readonly ended: Promise<Ended>;
}

/** How long each command takes. What a runner knows of it is another matter: a busy machine must not change the outcome. */
const SECONDS = 2;

class Runner {
  readonly folder: string;
  readonly #store: string;
  readonly #name: string;

  constructor(name: string, steps: number) {
    this.#name = name;
    this.folder = shop.another(name);
    this.#store = join(shop.folder, `${name}-store`);
    const named = Array.from({ length: steps }, (_, at) => [
      `s${at}`,
      {
        command: `sleep ${SECONDS}; read code < in; echo ${at} > out${at}; cat in >> out${at}; exit \${code#* }`,
        inputs: ['in'],
        outputs: [`out${at}`],
      },
    ]);
    writeFileSync(join(this.folder, 'assay.json'), JSON.stringify({ steps: Object.fromEntries(named) }));
  }

  get history(): string {
    return readFileSync(join(this.#store, 'client', 'history.jsonl'), 'utf8');
  }

  /** It knows that the steps of this history took so long. */
  learn(history: string, knownMs: number): void {
    const folder = join(this.#store, 'client');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const lines = history.replace(/"commandMs":[\d.]+/g, `"commandMs":${knownMs}`);
    writeFileSync(join(folder, 'history.jsonl'), lines, { mode: 0o600 });
  }

  start(input: string, jobs: number): Running {
    writeFileSync(join(this.folder, 'in'), `${input}\n`);
    const [program = '', ...form] = FORMS[DEFAULT_FORM];
    const args = ['run', '--json', '--keep-going', '--jobs', String(jobs), 's*'];
    const child = spawn(program, [...form, ...args], {
      cwd: this.folder,
      env: {
        ...baseEnvironment(),
        ASSAY_STORE: this.#store,
        ASSAY_REMOTE: server.url,
        ASSAY_WHERE: this.#name,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    children.push(child);
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    const ended = new Promise<Ended>((resolve) => {
      child.once('close', (code) => {
        const lines = stdout.split('\n').filter((line) => line.includes('"step-finished"'));
        resolve({ code, finished: lines.map((line): Finished => JSON.parse(line)), stderr: stderr + stdout });
      });
    });
    return { child, said: () => stdout, ended };
  }
}

/** The first of them has run its steps once. */
async function runnersWithHistory(
  count: number,
  steps: number,
): Promise<{ readonly runners: readonly Runner[]; readonly history: string }> {
  const [first, ...others] = Array.from({ length: count }, (_, at) => new Runner(`ci-${at}`, steps));
  if (!first) throw new Error('no runner');
  const { code, stderr } = await first.start('prime 0', steps).ended;
  expect(code, stderr).toBe(0);
  return { runners: [first, ...others], history: first.history };
}

const RUNNERS = soak(20, 4);
const ACTIONS = soak(100, 5);
/** Fewer than a run waits for at once. */
const JOBS = Math.min(ACTIONS, 40);

test(`${RUNNERS} runners that miss ${ACTIONS} actions at once run each of them once`, {
  timeout: 600_000,
}, async () => {
  const { runners, history } = await runnersWithHistory(RUNNERS, ACTIONS);
  for (const runner of runners) runner.learn(history, 30_000);
  const running = runners.map((runner) => runner.start('all 0', JOBS));
  const ends = await Promise.all(running.map(({ ended }) => ended));
  const finished = ends.flatMap(({ finished }) => finished);
  for (const { code, stderr } of ends) expect(code, stderr).toBe(0);
  for (const { folder } of runners)
    for (let at = 0; at < ACTIONS; at++)
      expect(readFileSync(join(folder, `out${at}`), 'utf8')).toBe(`${at}\nall 0\n`);
  const ran = finished.filter(({ outcome }) => outcome === 'miss');
  const hedged = ran.filter(({ actionLease }) => actionLease === 'hedged');
  expect(finished).toHaveLength(RUNNERS * ACTIONS);
  expect(hedged.length).toBeLessThanOrEqual(Math.max(1, ACTIONS / 10));
  expect(ran.length - hedged.length).toBe(ACTIONS);
  const waited = finished.filter(({ actionLease }) => actionLease === 'waited');
  expect(waited.length).toBeGreaterThan(0);
});

/** What happens to a holder. */
const FATES = ['SIGKILL', 'SIGSTOP', 'SIGTERM', 'fails'] as const;
const MOMENTS = soak(200, 4);

test(`holders killed, stopped, cancelled and failing at ${MOMENTS} moments: every runner ends with right outputs`, {
  timeout: 3_600_000,
}, async () => {
  const { runners, history } = await runnersWithHistory(3, 1);
  const [first, second, third] = runners;
  if (!first || !second || !third) throw new Error('too few runners');
  const random = new Random(43);
  for (let moment = 0; moment < MOMENTS; moment++) {
    const fate = FATES[moment % FATES.length] ?? 'fails';
    const input = `${fate}-${moment} ${fate === 'fails' ? 3 : 0}`;
    for (const runner of runners) runner.learn(history, 3000);
    const holder = first.start(input, 1);
    while (!holder.said().includes('step-started')) await sleep(10);
    const others = [second, third].map((runner) => runner.start(input, 1));
    await sleep(random.below(SECONDS * 1000));
    if (fate !== 'fails') holder.child.kill(fate);
    for (const { ended } of others) {
      const { code, finished, stderr } = await ended;
      const [one] = finished;
      if (fate === 'fails') {
        expect(code, stderr).toBe(3);
        expect(one, stderr).toMatchObject({ outcome: 'failed', exitCode: 3 });
        expect(one, stderr).not.toHaveProperty('replayed');
      } else expect(code, stderr).toBe(0);
    }
    for (const { folder } of fate === 'fails' ? [] : [second, third])
      expect(readFileSync(join(folder, 'out0'), 'utf8')).toBe(`0\n${input}\n`);
    holder.child.kill('SIGCONT');
    const { code, stderr } = await holder.ended;
    if (fate === 'SIGSTOP') expect(code, stderr).toBe(0);
  }
});

/** Eight epochs of a second; each is sealed. */
const TRAIN = [
  'n=$ASSAY_CHECKPOINT; [ -e state/n ] && n=$(cat state/n)',
  'while [ $n -lt 8 ]; do sleep 1; n=$((n + 1)); echo $n > state/n; echo "$WHO" > state/who',
  ': > $ASSAY_CHECKPOINT_DESK/r.request; while [ -e $ASSAY_CHECKPOINT_DESK/r.request ]; do sleep 0.05; done',
  'echo sealed $n; done; cp state/n model',
].join('\n');

/** A run of the training; its lines come as they are said. */
function train(name: string): Running & { readonly folder: string } {
  const folder = join(shop.folder, name);
  if (!existsSync(folder)) mkdirSync(folder);
  writeFileSync(join(folder, 'train.sh'), TRAIN.replaceAll('$WHO', 'a run'));
  const [program = '', ...form] = FORMS[DEFAULT_FORM];
  const args = ['--input', 'train.sh', '--output', 'model', '--checkpoint', 'state'];
  const child = spawn(program, [...form, 'run', '--json', ...args, '--', 'sh', 'train.sh'], {
    cwd: folder,
    env: {
      ...baseEnvironment(),
      ASSAY_STORE: join(shop.folder, `${name}-store`),
      ASSAY_REMOTE: server.url,
      ASSAY_WHERE: name,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code) => resolve({ code, finished: [], stderr: said }));
  });
  return { child, said: () => said, ended, folder };
}

async function newestLabel(key: string): Promise<string> {
  const response = await fetch(`${server.url}/labels/v1/checkpoint?prefix=${key}/`);
  return response.ok ? response.text() : '';
}

test('a training run that was stopped and woken after the second finished changes nothing of the second', {
  timeout: 120_000,
}, async () => {
  const stopped = train('stopped');
  while (!stopped.said().includes('sealed 4')) await sleep(50);
  stopped.child.kill('SIGSTOP');
  // Its lease ends when its heartbeats stop. Until then, a run that does not know how long it takes runs without one.
  await sleep(16_000);
  const second = train('second');
  const { code, stderr } = await second.ended;
  expect(code, stderr).toBe(0);
  expect(stderr).toContain('starting from checkpoint');
  const { key } = JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '');
  const before = await newestLabel(key);
  // It was written under the fence of the second.
  expect(before).toMatch(/\/\d+\.\d+\/8"/);
  stopped.child.kill('SIGCONT');
  const woken = await stopped.ended;
  expect(woken.code, woken.stderr).toBe(0);
  expect(woken.stderr).toMatch(/has taken over the lease|has the lease of its action now/);
  expect(await newestLabel(key)).toBe(before);
  expect(readFileSync(join(stopped.folder, 'model'), 'utf8')).toBe('8\n');
});
