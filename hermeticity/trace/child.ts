// Handling of the tracer process, shared by the tracer and the witness of the tests.
import type { ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import { AssayError } from '../../core/errors.ts';
import type { ExitStatus } from './access.ts';
import type { TracedCommand } from './tracer.ts';

export function forwardOutput(child: ChildProcess, output: TracedCommand['output']): void {
  if (output === 'inherit') return;
  child.stdout?.on('data', (chunk: Buffer) => output('stdout', chunk));
  child.stderr?.on('data', (chunk: Buffer) => output('stderr', chunk));
}

/** Resolves when the process has ended and its output has been read. */
export function waitForExit(child: ChildProcess, name: string): Promise<ExitStatus> {
  return new Promise((resolve, reject) => {
    child.once('error', (error) => {
      reject(
        new AssayError('ASSAY_NO_TRACER', `${name} cannot be started: ${error.message}`, { cause: error }),
      );
    });
    child.once('close', (code, signal) => resolve(signal ? { signal } : { code: code ?? 0 }));
  });
}

/**
 * Kills the tracer on abort; the kernel then kills everything that it traces. A tracer that forwards signals
 * gets the signal that is the abort's reason, if there is one. Returns a function that removes the listener.
 */
export function stopOnAbort(
  child: ChildProcess,
  signal: AbortSignal | undefined,
  forwardsSignals = false,
): () => void {
  const stop = () => child.kill(forwardsSignals && isSignal(signal?.reason) ? signal.reason : 'SIGKILL');
  if (signal?.aborted) stop();
  signal?.addEventListener('abort', stop, { once: true });
  return () => signal?.removeEventListener('abort', stop);
}

function isSignal(reason: unknown): reason is NodeJS.Signals {
  return typeof reason === 'string' && Object.hasOwn(constants.signals, reason);
}

export function startFailure(name: string, errno: number): AssayError {
  const code =
    Object.entries(constants.errno).find(([, number]) => number === errno)?.[0] ?? `errno ${errno}`;
  return new AssayError('ASSAY_COMMAND_NOT_FOUND', `${name} (${code})`);
}
