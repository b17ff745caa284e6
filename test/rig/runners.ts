// Runners of CI that share a server: each has a folder and a store of its own, and can be told how long its steps take.
// A gate holds the commands of all of them until a test opens it, so that a busy machine changes no outcome.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { baseEnvironment, DEFAULT_FORM, FORMS } from './assay.ts';

export interface Finished {
  readonly step: string;
  readonly outcome: string;
  readonly actionLease: string;
  readonly leaseWaitedMs: number;
}

export interface Ended {
  readonly code: number | null;
  readonly finished: readonly Finished[];
  readonly said: string;
}

export interface Running {
  readonly child: ChildProcess;
  /** All that it has said. */
  said(): string;
  readonly ended: Promise<Ended>;
}

export interface RunnerOptions {
  readonly name: string;
  /** Where its folder and its store are made. */
  readonly below: string;
  readonly remote: string;
  readonly env?: Readonly<Record<string, string>>;
}

export class Runner {
  readonly folder: string;
  readonly #options: RunnerOptions;
  readonly #store: string;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.folder = join(options.below, options.name);
    this.#store = join(options.below, `${options.name}-store`);
    mkdirSync(this.folder);
  }

  /** Steps s0, s1, …: each passes the gate, takes so long, and ends as its input says. */
  declareSteps(count: number): void {
    const named = Array.from({ length: count }, (_, at) => [
      `s${at}`,
      {
        command: `${GATED}; echo ${at} > out${at}; cat in >> out${at}; exit $code`,
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
    writeFileSync(join(folder, 'history.jsonl'), tookSoLong(history, knownMs), { mode: 0o600 });
  }

  runSteps(input: string, jobs: number): Running {
    writeFileSync(join(this.folder, 'in'), `${input}\n`);
    return this.run(['--json', '--keep-going', '--jobs', String(jobs), 's*']);
  }

  /** Ends with the test, also if it was stopped. */
  run(args: readonly string[]): Running {
    const { name, remote, env } = this.#options;
    const [program = '', ...form] = FORMS[DEFAULT_FORM];
    const child = spawn(program, [...form, 'run', ...args], {
      cwd: this.folder,
      env: {
        ...baseEnvironment(),
        ...{ ASSAY_STORE: this.#store, ASSAY_REMOTE: remote, ASSAY_WHERE: name },
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = once(child, 'close');
    onTestFinished(async () => {
      child.kill('SIGCONT');
      child.kill('SIGKILL');
      await ended;
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text;
      });
    return {
      child,
      said: () => said,
      ended: ended.then(([code]): Ended => {
        const lines = said.split('\n').filter((line) => line.includes('"step-finished"'));
        return { code, finished: lines.map((line): Finished => JSON.parse(line)), said };
      }),
    };
  }
}

/** The history of a machine on which each command took so long. */
export function tookSoLong(history: string, knownMs: number): string {
  return history.replace(/"commandMs":[\d.]+/g, `"commandMs":${knownMs}`);
}

/** The beginning of a command of `sh` that passes the gate which its input names. */
export const GATED = 'read name code seconds gate < in; sleep $seconds; tail -s 0.1 --pid=$gate -f /dev/null';

/** An input of steps that no gate holds. */
export function inputOf(name: string, code: number, seconds: number): string {
  return `${name} ${code} ${seconds} ${NO_PROCESS}`;
}

/** Above every limit of Linux. */
const NO_PROCESS = 2 ** 30;

/** Holds every command whose input names it. */
export class Gate {
  readonly #process: ChildProcess;

  constructor() {
    this.#process = spawn('sleep', ['600'], { stdio: 'ignore' });
    onTestFinished(() => this.open());
  }

  inputOf(name: string, code: number): string {
    return `${name} ${code} 0 ${this.#process.pid}`;
  }

  open(): void {
    this.#process.kill('SIGKILL');
  }
}

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

/** Every runner has the outputs of all actions, and of all of them together each action was executed once. */
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
  expect(hedged.length).toBeLessThanOrEqual(actions / 10);
  expect(ran.length - hedged.length).toBe(actions);
}
