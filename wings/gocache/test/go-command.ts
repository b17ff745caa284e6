// The go command's side of GOCACHEPROG, as cmd/go/internal/cache/prog.go speaks it: requests with IDs of
// their own, a body after its request, answers in any order.
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { baseEnvironment, CLIENT_FORM, FORMS, type Form } from '../../../test/rig/assay.ts';

export interface Answer {
  readonly ID: number;
  readonly Err?: string;
  readonly KnownCommands?: readonly string[];
  readonly Miss?: boolean;
  readonly OutputID?: string;
  readonly Size?: number;
  readonly Time?: string;
  readonly DiskPath?: string;
}

export interface Ended {
  readonly code: number | null;
  readonly stderr: string;
}

export const sha256 = (content: string | Uint8Array) => createHash('sha256').update(content).digest();

export class GoCommand {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #lastId = 0;

  constructor(
    args: readonly string[],
    options: { form?: Form; env?: Readonly<Record<string, string>>; wrapper?: readonly string[] } = {},
  ) {
    const [program = '', ...rest] = [
      ...(options.wrapper ?? []),
      ...FORMS[options.form ?? CLIENT_FORM],
      'gocacheprog',
      ...args,
    ];
    const child = spawn(program, rest, {
      env: { ...baseEnvironment(), ...options.env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.child = child;
    child.stdin.on('error', () => {});
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    createInterface(child.stdout).on('line', (line) => {
      const answer: Answer = JSON.parse(line);
      const heard = this.#waiting.get(answer.ID);
      if (!heard) throw new Error(`an answer to nothing: ${line}`);
      this.#waiting.delete(answer.ID);
      heard(answer);
    });
    this.ended = once(child, 'close').then(([code]) => ({ code, stderr }));
  }

  /** Starts the helper and waits for its first words. */
  static async start(...given: ConstructorParameters<typeof GoCommand>): Promise<GoCommand> {
    const go = new GoCommand(...given);
    const { KnownCommands } = await go.answerTo(0);
    if (KnownCommands?.join() !== 'get,put,close') throw new Error(`it announced ${KnownCommands}`);
    return go;
  }

  answerTo(id: number): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, resolve);
      void this.ended.then(({ stderr }) => reject(new Error(`it ended without an answer: ${stderr}`)));
    });
  }

  write(text: string): void {
    this.child.stdin?.write(text);
  }

  get(action: string): Promise<Answer> {
    return this.ask({ Command: 'get', ActionID: sha256(action).toString('base64') });
  }

  put(action: string, content: string | Uint8Array, outputId = sha256(content)): Promise<Answer> {
    const body = Buffer.from(content);
    return this.ask(
      {
        Command: 'put',
        ActionID: sha256(action).toString('base64'),
        OutputID: outputId.toString('base64'),
        ...(body.length > 0 && { BodySize: body.length }),
      },
      body.length > 0 ? `"${body.toString('base64')}"\n` : '',
    );
  }

  /** Go's encoder ends the request with a newline, and the go command writes another. */
  ask(request: Readonly<Record<string, unknown>>, body = ''): Promise<Answer> {
    const ID = ++this.#lastId;
    const answer = this.answerTo(ID);
    this.write(`${JSON.stringify({ ID, ...request })}\n\n${body}`);
    return answer;
  }

  async close(): Promise<Ended> {
    await this.ask({ Command: 'close' });
    this.child.stdin?.end();
    return this.ended;
  }
}
