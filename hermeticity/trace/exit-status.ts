// How a command ended, decoded from the kernel's wait status.
//
// Node and Bun do not know real-time signals: they report a process killed by one as exit code 0. So nothing
// here relies on their report of a command (measured in docs/decisions/0240).
import { constants } from 'node:os';
import type { ExitStatus, SignalName } from './access.ts';

const SIGNAL_NAMES = new Map<number, SignalName>(
  Object.entries(constants.signals).map(([name, number]) => [number, name as NodeJS.Signals]),
);

/** Decodes the status of wait(2). */
export function exitStatusOf(status: number): ExitStatus {
  const signal = status & 0x7f;
  return signal === 0 ? { code: (status >> 8) & 0xff } : { signal: signalName(signal) };
}

export function signalName(number: number): SignalName {
  return SIGNAL_NAMES.get(number) ?? `signal ${number}`;
}

/** The exit code that a shell reports for a process that a signal killed. */
export function exitCodeOfSignal(signal: SignalName): number {
  return 128 + (isNamed(signal) ? constants.signals[signal] : Number(signal.slice('signal '.length)));
}

function isNamed(signal: SignalName): signal is NodeJS.Signals {
  return Object.hasOwn(constants.signals, signal);
}

/**
 * The exit status of a command whose tracer ended without reporting one: the kernel killed both. Node's
 * report of the tracer counts only if it is a failure.
 */
export function exitStatusAfterTracer(tracer: ExitStatus): ExitStatus {
  return 'code' in tracer && tracer.code === 0 ? { signal: 'SIGKILL' } : tracer;
}
