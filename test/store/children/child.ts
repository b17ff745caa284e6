// Starts the child processes of these tests, and ends those that are left.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

/** A child starts in half the time from sources that an earlier one has compiled. */
const COMPILED = join(import.meta.dirname, '../../../node_modules/.cache/assay-tests');

export class Child {
  readonly #process: ChildProcessByStdio<Writable, Readable, null>;
  readonly #exit: Promise<unknown[]>;
  readonly #lines: AsyncIterator<string>;

  constructor(
    script: 'putter' | 'answerer' | 'evictor' | 'opener' | 'sharer' | 'reader',
    ...args: readonly (string | number)[]
  ) {
    this.#process = spawn(
      process.execPath,
      [join(import.meta.dirname, `${script}.ts`), ...args.map(String)],
      {
        env: { ...process.env, NODE_COMPILE_CACHE: COMPILED },
        stdio: ['pipe', 'pipe', 'inherit'],
      },
    );
    this.#exit = once(this.#process, 'exit');
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

  /** Its exit code, or null after a signal. */
  async exit(): Promise<unknown> {
    this.#process.stdin.end();
    const [code] = await this.#exit;
    return code;
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#exit;
  }
}
