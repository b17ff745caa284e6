// How to run an untraced command and still learn its exact exit status. Node and Bun report a child killed by
// a real-time signal as exit code 0 (docs/decisions/0240). So a helper waits for the command; where there is
// no helper, a shell does.
import { existsSync } from 'node:fs';
import { AssayError } from '../../core/errors.ts';
import type { ExitStatus } from './access.ts';
import { startFailure } from './child.ts';
import { decodeAll, helperPath } from './native.ts';
import { RecordDecoder } from './records.ts';
import { ReportBuilder } from './report-builder.ts';

/** The descriptor to which the helper writes the wait status. */
export const STATUS_DESCRIPTOR = 3;

type Argv = readonly [string, ...string[]];

export interface WaitStrategy {
  wrap(argv: Argv): Argv;
  /** Writes the wait status to STATUS_DESCRIPTOR. */
  readonly reportsStatus: boolean;
  /** Its own exit code 0 proves that the command succeeded. */
  readonly isExitCodeReliable: boolean;
}

const SHELL = '/bin/sh';

/** The shell survives signals to the process group and prints no message about them. */
const WAITING = 'trap : HUP INT QUIT TERM; exec 3>&2 2>/dev/null; (exec "$@" 2>&3 3>&-); exit $?';

/**
 * The best first. The next is for a helper that cannot start here: another architecture, a `noexec` mount.
 */
export function* waitStrategies(): Generator<WaitStrategy> {
  const helper = helperPath();
  const status = ['--status', String(STATUS_DESCRIPTOR), '--'];
  if (existsSync(helper))
    yield { wrap: (argv) => [helper, ...status, ...argv], reportsStatus: true, isExitCodeReliable: true };
  if (existsSync(SHELL))
    yield {
      wrap: (argv) => [SHELL, '-c', WAITING, 'sh', ...argv],
      reportsStatus: false,
      isExitCodeReliable: true,
    };
  yield { wrap: (argv) => argv, reportsStatus: false, isExitCodeReliable: false };
}

/** Undefined if the helper ended without reporting. Rejects if the command could not be started. */
export async function readWaitStatus(stream: unknown): Promise<ExitStatus | undefined> {
  const decoder = new RecordDecoder(new ReportBuilder<number>());
  await decodeAll(stream, decoder);
  const { startFailure: failure } = decoder;
  if (failure?.text === 'exec') throw startFailure('it cannot be started', failure.errno);
  if (failure) throw new AssayError('ASSAY_COMMAND_NOT_FOUND', `${failure.text} (errno ${failure.errno})`);
  return decoder.exit;
}
