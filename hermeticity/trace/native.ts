// The tracer: a helper in C (hermeticity/native) that stops a command only at relevant system calls.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { AssayError, messageOf } from '../../core/errors.ts';
import { HERMETICITY } from '../limits.ts';
import type { Access, TraceReport } from './access.ts';
import { forwardOutput, startFailure, stopOnAbort, waitForExit } from './child.ts';
import { exitStatusAfterTracer } from './exit-status.ts';
import { RECORD_VERSION, RecordDecoder } from './records.ts';
import { ReportBuilder } from './report-builder.ts';
import type { Availability, TracedCommand, Tracer } from './tracer.ts';

const HELPER = 'assay-trace';
const RECORDS_DESCRIPTOR = 3;

/**
 * The helper beside the executable, else the one in the build folder, as seen from the sources or the bundle.
 * In this order: the executable still names its build folder, which may be anybody's on another machine.
 */
export function helperPath(): string {
  const beside = join(dirname(process.execPath), HELPER);
  const built = [`../../dist/${HELPER}`, `../${HELPER}`].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  );
  return [beside, ...built].find((path) => existsSync(path)) ?? beside;
}

type Wrap = (argv: readonly [string, ...string[]]) => readonly [string, ...string[]];

export class NativeTracer implements Tracer {
  readonly name = HELPER;
  readonly version = String(RECORD_VERSION);
  readonly #helper: string;
  readonly #wrap: Wrap;
  #trial: Promise<Availability> | undefined;

  /** `wrap` turns the helper's argv into one that runs it elsewhere, such as in a sandbox. */
  constructor(helper: string = helperPath(), wrap: Wrap = (argv) => argv) {
    this.#helper = helper;
    this.#wrap = wrap;
  }

  available(): Promise<Availability> {
    this.#trial ??= this.#try();
    return this.#trial;
  }

  async run(command: TracedCommand, onAccess?: (access: Access) => void): Promise<TraceReport> {
    const builder = new ReportBuilder<number>(onAccess);
    const decoder = new RecordDecoder(builder);
    const child = this.#start(command);
    if (child.pid !== undefined) command.startedAs?.(child.pid);
    const records = decodeAll(child.stdio[RECORDS_DESCRIPTOR], decoder);
    /* If the helper cannot start there are no records, and `waitForExit` reports the better error. */
    records.catch(() => {});
    forwardOutput(child, command.output);
    const stopListening = stopOnAbort(child, command.signal, true);
    try {
      const helperExit = await waitForExit(child, this.name);
      await records;
      if (decoder.startFailure) throw refusalOf(decoder.startFailure, command.argv[0]);
      if (!decoder.exit) builder.gap('the tracer ended before the command did');
      return builder.finish(this, decoder.exit ?? exitStatusAfterTracer(helperExit));
    } finally {
      stopListening();
    }
  }

  #start(command: TracedCommand): ChildProcess {
    const linger = String(command.lingerMs ?? HERMETICITY.lingerMs);
    const own = ['--records', String(RECORDS_DESCRIPTOR), '--linger', linger, '--'];
    const output = command.output === 'inherit' ? 'inherit' : 'pipe';
    const [program, ...args] = this.#wrap([this.#helper, ...own, ...command.argv]);
    return spawn(program, args, {
      cwd: command.cwd,
      env: { ...command.env },
      stdio: ['ignore', output, output, 'pipe'],
    });
  }

  /** Traces the helper's own `--version`, which proves at once that tracing works. */
  async #try(): Promise<Availability> {
    if (!existsSync(this.#helper)) return { available: false, reason: `${HELPER} is not built` };
    const output: Buffer[] = [];
    try {
      const report = await this.run({
        argv: [this.#helper, '--version'],
        cwd: '/',
        env: {},
        output: (_, chunk) => output.push(chunk),
        signal: AbortSignal.timeout(HERMETICITY.trialMs),
      });
      return judgeTrial(report, Buffer.concat(output).toString('utf8').trim());
    } catch (error) {
      return { available: false, reason: messageOf(error) };
    }
  }
}

function judgeTrial(report: TraceReport, output: string): Availability {
  const expected = `${HELPER} ${RECORD_VERSION}`;
  if (output !== expected)
    return {
      available: false,
      reason: `expected ${expected}, but the helper answered ${output || 'nothing'}`,
    };
  const sawItself = report.accesses.some((access) => access.kind === 'exec');
  if (!sawItself || !report.complete) return { available: false, reason: `a test trace recorded no access` };
  return { available: true };
}

/** Decodes records until the stream ends. An iterator over the stream would cost each command more than the records. */
export async function decodeAll(stream: unknown, decoder: RecordDecoder): Promise<void> {
  if (!isReadable(stream))
    throw new AssayError('ASSAY_TRACE_BROKEN', 'the tracer has no stream for its records');
  await new Promise<void>((resolve, reject) => {
    stream.once('error', reject);
    stream.once('end', resolve);
    stream.once('close', resolve);
    stream.on('data', (chunk: Buffer) => {
      try {
        decoder.push(chunk);
      } catch (error) {
        reject(error);
        stream.destroy();
      }
    });
  });
}

function isReadable(stream: unknown): stream is Readable {
  return typeof stream === 'object' && stream !== null && 'read' in stream;
}

function refusalOf(failure: { text: string; errno: number }, name: string): AssayError {
  if (failure.text !== 'exec')
    return new AssayError('ASSAY_NO_TRACER', `${failure.text} (errno ${failure.errno})`);
  return startFailure(name, failure.errno);
}
