// `assay serve` as a process of its own, on a free port of the loopback.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { baseEnvironment, DEFAULT_FORM, FORMS, type Form } from './assay.ts';

export interface ServerOptions {
  readonly form?: Form;
  /** Instead of a form: another installation. */
  readonly program?: readonly string[];
  readonly port?: number;
  readonly args?: readonly string[];
  /** A program that becomes the server, after it has changed something about the process. */
  readonly wrapper?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export class ServerProcess {
  readonly child: ChildProcess;
  readonly url: string;

  private constructor(child: ChildProcess, url: string) {
    this.child = child;
    this.url = url;
  }

  static async start(store: string, options: ServerOptions = {}): Promise<ServerProcess> {
    const { form = DEFAULT_FORM, port = 0, args = [], env = {}, wrapper = [] } = options;
    const [program = '', ...before] = [...wrapper, ...(options.program ?? FORMS[form])];
    const child = spawn(program, [...before, 'serve', '--port', String(port), '--store', store, ...args], {
      env: { ...baseEnvironment(), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return new ServerProcess(child, await address(child));
  }

  /** Ends it as the system would, without a word. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  async stop(): Promise<void> {
    await this.#end('SIGTERM');
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, 'exit');
    this.child.kill(signal);
    await ended;
  }
}

function address(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = '';
    const listen = (text: string) => {
      said += text;
      const found = /https?:\/\/[\d.]+:\d+/.exec(said);
      if (found) resolve(found[0]);
    };
    child.stdout?.setEncoding('utf8').on('data', listen);
    child.stderr?.setEncoding('utf8').on('data', listen);
    child.once('exit', (code) => reject(new Error(`assay serve ended with ${code}:\n${said}`)));
    child.once('error', reject);
  });
}
