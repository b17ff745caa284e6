// The fast tracer: Assay's own helper in C (hermeticity/native), which stops a command only at the calls that matter.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { AssayError, messageOf } from '../../core/errors.ts';
import { HERMETICITY } from '../limits.ts';
import { exitStatusAfterTracer } from '../system/exit-status.ts';
import type { Access, TraceReport } from './access.ts';
import { forwardOutput, startFailure, stopOnAbort, waitForExit } from './child.ts';
import { RECORD_VERSION, RecordDecoder } from './records.ts';
import { ReportBuilder } from './report-builder.ts';
import type { Availability, TracedCommand, Tracer } from './tracer.ts';

const HELPER = 'assay-trace';
const RECORDS_DESCRIPTOR = 3;

/**
 * Beside the executable; or where the build puts it, seen from the sources and from the bundle for Node. In this order: the
 * executable still names the folder that it was built in, which is nobody's in particular on another machine.
 */
export function helperPath(): string {
  const beside = join(dirname(process.execPath), HELPER);
  const built = [`../../dist/${HELPER}`, `../${HELPER}`].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  );
  return [beside, ...built].find((path) => existsSync(path)) ?? beside;
}

export type Wrap = (argv: readonly [string, ...string[]]) => readonly [string, ...string[]];

export class NativeTracer implements Tracer {
  readonly name = HELPER;
  readonly version = String(RECORD_VERSION);
  readonly #helper: string;
  readonly #wrap: Wrap;
  #trial: Promise<Availability> | undefined;

  /** `wrap`: what to run so that the helper, and all that it traces, runs somewhere else. */
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
    /* Where the helper can't be started there are no records either, and `ended` has the better words for it. */
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

  /** The version is asked for under trace, which shows at once that tracing works. */
  async #try(): Promise<Availability> {
    if (!existsSync(this.#helper)) return { available: false, reason: `${HELPER} is not built` };
    const said: Buffer[] = [];
    try {
      const report = await this.run({
        argv: [this.#helper, '--version'],
        cwd: '/',
        env: {},
        output: (_, chunk) => said.push(chunk),
        signal: AbortSignal.timeout(HERMETICITY.trialMs),
      });
      return judgeTrial(report, Buffer.concat(said).toString('utf8').trim());
    } catch (error) {
      return { available: false, reason: messageOf(error) };
    }
  }
}

function judgeTrial(report: TraceReport, said: string): Availability {
  const expected = `${HELPER} ${RECORD_VERSION}`;
  if (said !== expected)
    return { available: false, reason: `expected ${expected}, but the helper is ${said || 'mute'}` };
  const sawItself = report.accesses.some((access) => access.kind === 'exec');
  if (!sawItself || !report.complete)
    return { available: false, reason: `a trial trace saw nothing of itself` };
  return { available: true };
}

/** Resolves at the end of the stream. */
export async function decodeAll(stream: unknown, decoder: RecordDecoder): Promise<void> {
  if (!isReadable(stream))
    throw new AssayError('ASSAY_TRACE_BROKEN', 'the tracer has no stream for its records');
  for await (const chunk of stream) decoder.push(chunk);
}

function isReadable(stream: unknown): stream is Readable {
  return typeof stream === 'object' && stream !== null && 'read' in stream;
}

function refusalOf(failure: { text: string; errno: number }, name: string): AssayError {
  if (failure.text !== 'exec')
    return new AssayError('ASSAY_NO_TRACER', `${failure.text} (errno ${failure.errno})`);
  return startFailure(name, failure.errno);
}
