// Who waits for a command that nobody watches, and so learns how it ended: Assay's helper; a shell where there is no helper.
// A real-time signal that ends a child of Node's, or of Bun's, is reported as exit code 0 (docs/decisions/0240).
import { existsSync } from 'node:fs';
import { AssayError } from '../../core/errors.ts';
import type { ExitStatus } from './access.ts';
import { startFailure } from './child.ts';
import { decodeAll, helperPath } from './native.ts';
import { RecordDecoder } from './records.ts';
import { ReportBuilder } from './report-builder.ts';

/** Where a helper tells the wait status. */
export const STATUS_DESCRIPTOR = 3;

type Argv = readonly [string, ...string[]];

export interface WaitStrategy {
  wrap(argv: Argv): Argv;
  /** It writes the wait status to STATUS_DESCRIPTOR. */
  readonly reportsStatus: boolean;
  /** Its own exit code 0 says that the command succeeded. */
  readonly isExitCodeReliable: boolean;
}

const SHELL = '/bin/sh';

/** The shell outlives the signals that the process group gets, and keeps its own words about signals to itself. */
const WAITING = 'trap : HUP INT QUIT TERM; exec 3>&2 2>/dev/null; (exec "$@" 2>&3 3>&-); exit $?';

/** The best first. The next one is for a helper that can't be started here: another architecture, a `noexec` mount. */
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

/** Undefined if the helper ended before it told. Rejects if the command could not be started. */
export async function readWaitStatus(stream: unknown): Promise<ExitStatus | undefined> {
  const decoder = new RecordDecoder(new ReportBuilder<number>());
  await decodeAll(stream, decoder);
  const { startFailure: failure } = decoder;
  if (failure?.text === 'exec') throw startFailure('it can not be started', failure.errno);
  if (failure) throw new AssayError('ASSAY_COMMAND_NOT_FOUND', `${failure.text} (errno ${failure.errno})`);
  return decoder.exit;
}
