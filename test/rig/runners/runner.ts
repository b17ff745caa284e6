// A runner of CI: it has a folder and a store of its own, and can be told how long its steps take.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { baseEnvironment, CLIENT_FORM, FORMS } from '../assay.ts';
import { GATED } from './gate.ts';

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
    const [program = '', ...form] = FORMS[CLIENT_FORM];
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
    // A command that waits at a gate keeps the streams open.
    const exited = once(child, 'exit');
    onTestFinished(async () => {
      child.kill('SIGCONT');
      child.kill('SIGKILL');
      await exited;
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
