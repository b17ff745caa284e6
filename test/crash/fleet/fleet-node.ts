// The test's side of a node: a process behind a proxy for PostgreSQL and one for S3, which can be killed, stopped and
// cut off.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { S3Proxy } from '../../rig/fleet/s3-proxy.ts';
import type { FleetEnvironment } from '../../rig/fleet/services.ts';
import { TcpProxy } from '../../rig/fleet/tcp-proxy.ts';
import type { Answer, Operation, Reply } from './operations.ts';

const PROGRAM = join(import.meta.dirname, 'node-process.ts');
const COMPILED = join(import.meta.dirname, '../../../node_modules/.cache/assay-tests');

export class FleetNode {
  readonly s3: S3Proxy;
  readonly postgres: TcpProxy;
  readonly #environment: FleetEnvironment;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #process: ChildProcess | undefined;
  #questions = 0;
  #starting: Promise<void> = Promise.resolve();

  static async start(environment: FleetEnvironment): Promise<FleetNode> {
    const index = new URL(environment.ASSAY_INDEX);
    const postgres = await TcpProxy.start(index.hostname, Number(index.port));
    const s3 = await S3Proxy.start(environment.AWS_ENDPOINT_URL);
    index.port = String(postgres.port);
    const behind = { ...environment, ASSAY_INDEX: index.href, AWS_ENDPOINT_URL: s3.url };
    const node = new FleetNode(behind, s3, postgres);
    await node.restart();
    return node;
  }

  private constructor(environment: FleetEnvironment, s3: S3Proxy, postgres: TcpProxy) {
    this.#environment = environment;
    this.s3 = s3;
    this.postgres = postgres;
  }

  /** Waits for a process that is being started. */
  async ask(operation: Operation): Promise<Answer> {
    await this.#starting;
    const id = this.#questions++;
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.#waiting.set(id, resolve);
    this.#process?.send({ id, operation }, (error) => error && this.#answer(id, { kind: 'killed' }));
    return promise;
  }

  /** SIGKILL, and a new process. A process that does not start because of another fault is started again. */
  restart(): Promise<void> {
    this.#starting = this.#restart();
    return this.#starting;
  }

  async #restart(): Promise<void> {
    await this.kill();
    for (let attempt = 0; ; attempt++) {
      const child = fork(PROGRAM, [], {
        env: { ...process.env, ...this.#environment, NODE_COMPILE_CACHE: COMPILED },
        stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      });
      let errors = '';
      child.stderr?.setEncoding('utf8').on('data', (text: string) => {
        errors += text;
      });
      const isReady = await Promise.race([
        once(child, 'message').then(() => true),
        once(child, 'exit').then(() => false),
      ]);
      if (isReady) {
        this.#process = child;
        child.on('message', ({ id, answer }: Reply) => this.#answer(id, answer));
        return;
      }
      if (attempt === 20) throw new Error(`a node does not start:\n${errors}`);
    }
  }

  async kill(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child && child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    for (const id of [...this.#waiting.keys()]) this.#answer(id, { kind: 'killed' });
  }

  /** SIGSTOP and, later, SIGCONT: a node that awakes after its leases have ended. */
  pause(): () => void {
    const child = this.#process;
    child?.kill('SIGSTOP');
    return () => void child?.kill('SIGCONT');
  }

  heal(): void {
    this.s3.fault = () => undefined;
    this.postgres.link = 'open';
  }

  async stop(): Promise<void> {
    await this.#starting.catch(() => {});
    await this.kill();
    await Promise.all([this.s3.stop(), this.postgres.stop()]);
  }

  #answer(id: number, answer: Answer): void {
    this.#waiting.get(id)?.(answer);
    this.#waiting.delete(id);
  }
}
