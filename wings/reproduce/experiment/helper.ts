// Runs a command under the helper assay-vary (native/), which fakes the time, host, user and more. Also
// reports what this machine allows the helper to do.
import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { AssayError, messageOf } from '../../../core/errors.ts';
import { HERMETICITY } from '../../../hermeticity/limits.ts';
import { REPRODUCE } from '../limits.ts';

const HELPER = 'assay-vary';
const CANNOT_START = 125;

/** Beside the executable, or in the build folder, like the tracer. */
export function reproduceHelperPath(): string {
  const beside = join(dirname(process.execPath), HELPER);
  const built = [`../../../dist/${HELPER}`, `../${HELPER}`].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  );
  return [beside, ...built].find((path) => existsSync(path)) ?? beside;
}

interface Capabilities {
  /** Why runs have no namespaces of their own, if they have none. */
  readonly noNamespaces?: string;
}

/** Throws ASSAY_NO_VARIATION where nothing can be varied. */
export async function capabilitiesOf(helper: string): Promise<Capabilities> {
  if (!existsSync(helper)) throw new AssayError('ASSAY_NO_VARIATION', `${HELPER} is not built`);
  const answers = await ask(helper);
  const trace = answers.get('trace') ?? 'the helper did not answer';
  if (trace !== 'ok') throw new AssayError('ASSAY_NO_VARIATION', trace);
  const spaces = answers.get('spaces') ?? 'the helper did not answer';
  return spaces === 'ok' ? {} : { noNamespaces: spaces };
}

async function ask(helper: string): Promise<Map<string, string>> {
  try {
    const { stdout } = await promisify(execFile)(helper, ['--check'], { timeout: HERMETICITY.trialMs });
    const lines = stdout.trim().split('\n');
    return new Map(lines.map((line) => [line.replace(/ .*/, ''), line.replace(/^\S* /, '')]));
  } catch (error) {
    throw new AssayError('ASSAY_NO_VARIATION', messageOf(error), { cause: error });
  }
}

interface VariedCommand {
  /** Options of the helper. */
  readonly options: readonly string[];
  /** The working directory. */
  readonly folder: string;
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  readonly limitMs: number;
  readonly signal?: AbortSignal | undefined;
}

interface VariedEnd {
  readonly exitCode: number;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  /** The run was killed at its time limit. */
  readonly timedOut: boolean;
  readonly tookMs: number;
}

export async function runVaried(helper: string, command: VariedCommand): Promise<VariedEnd> {
  const { options, folder, argv, env, limitMs } = command;
  const startedAt = performance.now();
  const child = spawn(helper, [...options, '--folder', folder, '--', ...argv], {
    cwd: '/',
    env: { ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  const limit = AbortSignal.timeout(limitMs);
  const stop = AbortSignal.any(command.signal ? [limit, command.signal] : [limit]);
  const end = () => child.kill('SIGKILL');
  stop.addEventListener('abort', end, { once: true });
  const streams = [1, 2, 3].map((descriptor) => readStart(child.stdio[descriptor]));
  try {
    const exitCode = await new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => resolve(code ?? CANNOT_START));
    });
    const [stdout, stderr, failure] = await Promise.all(streams);
    command.signal?.throwIfAborted();
    if (failure?.length) throw new AssayError('ASSAY_NO_VARIATION', failure.toString('utf8').trim());
    const none = Buffer.alloc(0);
    const tookMs = performance.now() - startedAt;
    return { exitCode, stdout: stdout ?? none, stderr: stderr ?? none, timedOut: limit.aborted, tookMs };
  } finally {
    stop.removeEventListener('abort', end);
  }
}

/** The beginning of a stream; the rest is read and dropped. */
async function readStart(stream: unknown): Promise<Buffer> {
  const kept: Buffer[] = [];
  let size = 0;
  if (!isReadable(stream)) return Buffer.alloc(0);
  for await (const chunk of stream) {
    if (size < REPRODUCE.comparedStreamBytes) kept.push(chunk);
    size += chunk.length;
  }
  return Buffer.concat(kept).subarray(0, REPRODUCE.comparedStreamBytes);
}

function isReadable(stream: unknown): stream is AsyncIterable<Buffer> {
  return typeof stream === 'object' && stream !== null && Symbol.asyncIterator in stream;
}
