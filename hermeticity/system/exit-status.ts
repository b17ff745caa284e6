// How a command ended, from the wait status that the kernel gives to whoever waits for it.
//
// Node and Bun know no real-time signals: they report a process that one of these ended as one that exited with 0. So nothing
// here goes by what they say of a command; docs/decisions/0240 has the measurement.
import { constants } from 'node:os';
import type { ExitStatus, SignalName } from '../trace/access.ts';

const SIGNAL_NAMES = new Map<number, SignalName>(
  Object.entries(constants.signals).map(([name, number]) => [number, name as NodeJS.Signals]),
);

/** From the number that wait(2) gives. */
export function exitStatusOf(status: number): ExitStatus {
  const signal = status & 0x7f;
  return signal === 0 ? { code: (status >> 8) & 0xff } : { signal: signalName(signal) };
}

export function signalName(number: number): SignalName {
  return SIGNAL_NAMES.get(number) ?? `signal ${number}`;
}

/** The exit code that a shell shows for a process that a signal ended. */
export function exitCodeOfSignal(signal: SignalName): number {
  return 128 + (isNamed(signal) ? constants.signals[signal] : Number(signal.slice('signal '.length)));
}

function isNamed(signal: SignalName): signal is NodeJS.Signals {
  return Object.hasOwn(constants.signals, signal);
}

/**
 * Of a command whose tracer ended without telling how the command did: the kernel has killed the command with its tracer. What
 * Node says of the tracer counts only where it is no success.
 */
export function exitStatusAfterTracer(tracer: ExitStatus): ExitStatus {
  return 'code' in tracer && tracer.code === 0 ? { signal: 'SIGKILL' } : tracer;
}
