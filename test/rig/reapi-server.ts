// The cache of reapi_server.py as a process: an implementation of the Remote Execution API that is not ours.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const RIG = import.meta.dirname;
const PROTOS = join(RIG, '../../core/proto');

export class ReapiServer {
  readonly url: string;
  /** What it was asked, a line each. */
  readonly calls: readonly string[];
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, port: string, calls: readonly string[]) {
    this.#child = child;
    this.url = `grpc://127.0.0.1:${port}`;
    this.calls = calls;
  }

  /** `folder`: where the descriptors may lie. */
  static async start(folder: string, fault = 'none'): Promise<ReapiServer> {
    const descriptors = join(folder, 'reapi.pb');
    execFileSync('protoc', [
      `-I${PROTOS}`,
      '--include_imports',
      `--descriptor_set_out=${descriptors}`,
      'reapi.proto',
      'reapi-services.proto',
      'bytestream.proto',
    ]);
    const child = spawn('/usr/bin/python3', ['-I', join(RIG, 'reapi_server.py'), descriptors, fault], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const calls: string[] = [];
    const lines = createInterface(child.stdout);
    const [port] = await once(lines, 'line');
    lines.on('line', (line) => calls.push(line));
    return new ReapiServer(child, port, calls);
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }
}
