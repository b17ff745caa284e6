// Starts the child processes of these tests, and ends those that are left.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { setImmediate as immediately } from 'node:timers/promises';

/** A child starts in half the time from sources that an earlier one has compiled. */
const COMPILED = join(import.meta.dirname, '../../../node_modules/.cache/assay-tests');

type Script =
  | 'putter'
  | 'answerer'
  | 'evictor'
  | 'opener'
  | 'committer'
  | 'sharer'
  | 'reader'
  | 'loader'
  | 'long-reader'
  | 'stale-reader';

export class Child {
  readonly #process: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #exit: Promise<unknown[]>;
  readonly #lines: AsyncIterator<string>;
  #errors = '';

  constructor(script: Script, ...args: readonly (string | number)[]) {
    this.#process = spawn(
      process.execPath,
      [join(import.meta.dirname, `${script}.ts`), ...args.map(String)],
      {
        env: { ...process.env, NODE_COMPILE_CACHE: COMPILED },
        stdio: ['pipe', 'pipe', 'pipe'],
      },
    );
    this.#process.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#errors += text;
    });
    this.#exit = once(this.#process, 'close');
    this.#lines = createInterface({ input: this.#process.stdout })[Symbol.asyncIterator]();
  }

  /** Undefined at the end of the output. */
  async line(): Promise<string | undefined> {
    const { value, done } = await this.#lines.next();
    return done ? undefined : value;
  }

  async remainingLines(): Promise<string[]> {
    const lines: string[] = [];
    for (let line = await this.line(); line !== undefined; line = await this.line()) lines.push(line);
    return lines;
  }

  say(text: string): void {
    this.#process.stdin.write(`${text}\n`);
  }

  /** Waits until it exits. Throws what it printed as an error, unless its exit code is 0. */
  async end(): Promise<void> {
    this.#process.stdin.end();
    const [code, signal] = await this.#exit;
    if (code !== 0) throw new Error(`the child exited with ${code ?? signal}:\n${this.#errors}`);
  }

  /** SIGSTOP, until `resume`. Resolves when every thread has stopped. */
  async stop(): Promise<void> {
    this.#process.kill('SIGSTOP');
    while (this.exit === undefined && !this.#isStopped()) await immediately();
  }

  #isStopped(): boolean {
    const tasks = `/proc/${this.#process.pid}/task`;
    return readdirSync(tasks).every((task) =>
      / [TZX] /.test(readFileSync(join(tasks, task, 'stat'), 'utf8')),
    );
  }

  resume(): void {
    this.#process.kill('SIGCONT');
  }

  /** What it has printed as errors. */
  get errors(): string {
    return this.#errors;
  }

  /** Undefined while it runs. */
  get exit(): string | undefined {
    const { exitCode, signalCode } = this.#process;
    return exitCode === null && signalCode === null
      ? undefined
      : `${exitCode ?? signalCode}: ${this.#errors}`;
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#exit;
  }
}
