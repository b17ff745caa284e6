// Makes a running process's system calls fail, by strace: the real process, the real file system, one call
// that did not happen.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

export interface Injection {
  readonly call: string;
  readonly error: string;
  /** Which of these calls fails, counted from 1 in each thread; none if there are fewer. */
  readonly nth: number;
  /** Only calls on this file. */
  readonly path?: string;
}

export class Injector {
  readonly #child: ChildProcess;
  #said: string;

  private constructor(child: ChildProcess, said: string) {
    this.#child = child;
    this.#said = said;
    child.stderr?.on('data', (text: string) => {
      this.#said += text;
    });
  }

  /** Does that while the calls of a process are watched; tells how many of them failed for it. */
  static async during<T>(
    pid: number,
    injection: Injection,
    work: () => Promise<T>,
  ): Promise<{ readonly value: T; readonly injected: number }> {
    const injector = await Injector.#attach(pid, injection);
    try {
      const value = await work();
      return { value, injected: await injector.#detach() };
    } finally {
      await injector.#detach();
    }
  }

  /** Resolves when all threads of the process are watched. */
  static async #attach(pid: number, { call, error, nth, path }: Injection): Promise<Injector> {
    const what = ['-e', `trace=${call}`, '-e', `inject=${call}:error=${error}:when=${nth}`];
    const where = path === undefined ? [] : ['-P', path];
    const child = spawn('strace', ['-f', ...what, ...where, '-p', String(pid)], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    child.stderr.setEncoding('utf8');
    let said = '';
    while (!said.includes(' attached')) {
      const [text] = await Promise.race([
        once(child.stderr, 'data'),
        once(child, 'exit').then(() => [undefined]),
      ]);
      if (typeof text !== 'string') throw new Error(`strace could not attach: ${said}`);
      said += text;
    }
    return new Injector(child, said);
  }

  /** Ends the watching, if it has not ended yet; tells how many calls failed for it. */
  async #detach(): Promise<number> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const ended = once(this.#child, 'close');
      this.#child.kill('SIGINT');
      await ended;
    }
    return this.#said.split('\n').filter((line) => line.includes('(INJECTED)')).length;
  }
}
