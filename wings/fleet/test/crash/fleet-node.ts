// The test's side of a node: a process in a network of its own, behind a proxy for PostgreSQL and one for S3. It can be
// killed, stopped, cut off, started with a wrong clock, and given a rotten tier.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  globSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Cable, NodeNetwork } from '../rig/network.ts';
import { S3Proxy } from '../rig/s3-proxy.ts';
import type { FleetEnvironment } from '../rig/services.ts';
import { type Link, TcpProxy } from '../rig/tcp-proxy.ts';
import type { Answer, Operation, Reply } from './operations.ts';

const PROGRAM = join(import.meta.dirname, 'node-process.ts');
const COMPILED = join(import.meta.dirname, '../../../../node_modules/.cache/assay-tests');

/** By how much the wall clock of a node is wrong, for libfaketime. */
export type ClockError = '+0' | '+1h' | '-1h';

export class FleetNode {
  readonly s3: S3Proxy;
  readonly postgres: TcpProxy;
  /** Undefined where only root can make one, and this is not root. */
  readonly #network: NodeNetwork | undefined;
  readonly #tier = mkdtempSync(join(tmpdir(), 'assay-test-tier-'));
  #clock: ClockError = '+0';
  #environment: FleetEnvironment;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #process: ChildProcess | undefined;
  #questions = 0;
  #starting: Promise<void> = Promise.resolve();

  static async start(environment: FleetEnvironment): Promise<FleetNode> {
    const index = new URL(environment.ASSAY_INDEX);
    const network = NodeNetwork.create();
    const address = network?.machineAddress ?? '127.0.0.1';
    const postgres = await TcpProxy.start(index.hostname, Number(index.port), address);
    const s3 = await S3Proxy.start(environment.AWS_ENDPOINT_URL, address);
    const node = new FleetNode(environment, s3, postgres, network);
    await node.move(environment);
    return node;
  }

  /** To another database of the same PostgreSQL, and to another prefix. */
  async move(environment: FleetEnvironment): Promise<void> {
    const index = new URL(environment.ASSAY_INDEX);
    index.host = `${this.#network?.machineAddress ?? '127.0.0.1'}:${this.postgres.port}`;
    // The network of the node is this machine's own.
    index.searchParams.set('sslmode', 'disable');
    this.#environment = { ...environment, ASSAY_INDEX: index.href, AWS_ENDPOINT_URL: this.s3.url };
    await this.restart();
  }

  private constructor(
    environment: FleetEnvironment,
    s3: S3Proxy,
    postgres: TcpProxy,
    network: NodeNetwork | undefined,
  ) {
    this.#environment = environment;
    this.#network = network;
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

  /**
   * SIGKILL, and a new process, whichever parts are away. `clock`: from now on. Of two faults at once, one restart follows
   * the other: a process that nobody knows would go on, and could be elected for ever.
   */
  restart(clock: ClockError = this.#clock): Promise<void> {
    this.#clock = clock;
    this.#starting = this.#starting.catch(() => {}).then(() => this.#restart());
    return this.#starting;
  }

  async #restart(): Promise<void> {
    await this.kill();
    const [program = process.execPath, ...before] = [...(this.#network?.enter ?? []), process.execPath];
    const child = fork(PROGRAM, [], {
      execPath: program,
      execArgv: before,
      env: {
        ...process.env,
        ...this.#environment,
        NODE_COMPILE_CACHE: COMPILED,
        ASSAY_TEST_TIER: this.#tier,
        ...wrongClock(this.#clock),
      },
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
    if (!isReady) throw new Error(`a node does not start:\n${errors}`);
    this.#process = child;
    child.on('message', ({ id, answer }: Reply) => this.#answer(id, answer));
  }

  /** Breaks the network of the node; where there is none, the proxies behave like it. */
  set cable(cable: Cable) {
    if (this.#network) this.#network.cable = cable;
    else this.postgres.link = LINK_OF[cable];
  }

  /** Changes a byte in each file of the tier. */
  rotTier(): void {
    for (const file of readdirSync(this.#tier, { recursive: true, withFileTypes: true })) {
      const path = join(file.parentPath, file.name);
      if (!file.isFile() || !path.includes('/files/')) continue;
      const descriptor = openSync(path, 'r+');
      writeSync(descriptor, 'rotten', Math.floor(statSync(path).size / 2));
      closeSync(descriptor);
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
    if (this.#network) this.#network.cable = 'whole';
  }

  async stop(): Promise<void> {
    await this.#starting.catch(() => {});
    await this.kill();
    await Promise.all([this.s3.stop(), this.postgres.stop()]);
    this.#network?.remove();
    rmSync(this.#tier, { recursive: true, force: true });
  }

  #answer(id: number, answer: Answer): void {
    this.#waiting.get(id)?.(answer);
    this.#waiting.delete(id);
  }
}

const LINK_OF: Readonly<Record<Cable, Link>> = {
  whole: 'open',
  cut: 'frozen',
  deaf: 'deaf',
  mute: 'mute',
  flaky: 'away',
  narrow: 'slow',
};

/** The monotonic clock stays right: no machine has a wrong one. */
function wrongClock(clock: ClockError): Readonly<Record<string, string>> {
  if (clock === '+0') return {};
  const [library] = globSync('/usr/lib/*/faketime/libfaketime.so.1');
  if (library === undefined) throw new Error('there is no libfaketime: run scripts/setup-tests.sh');
  return { LD_PRELOAD: library, FAKETIME: clock, FAKETIME_DONT_FAKE_MONOTONIC: '1' };
}
