// A gate holds the commands whose input names it until a test opens it, so that a busy machine changes no outcome.
import { type ChildProcess, spawn } from 'node:child_process';
import { onTestFinished } from 'vitest';
import { soak } from '../soak.ts';

/** How often a command looks at its gate. In the full size hundreds of commands do. */
const LOOK_S = soak(20, 1) / 10;

/** The beginning of a command of `sh` that passes the gate which its input names. */
export const GATED = `read name code seconds gate < in; sleep $seconds; tail -s ${LOOK_S} --pid=$gate -f /dev/null`;

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
