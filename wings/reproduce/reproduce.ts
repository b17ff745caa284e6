// Runs an action repeatedly from clean copies under varied conditions, and reports what its result depends
// on. It looks up nothing but the state of earlier runs, publishes nothing, and leaves the workspace
// unchanged.

import type { RunRequest } from '../../client/action/request.ts';
import type { KeyedAction } from '../../client/inputs/keyed-action.ts';
import { onSignal } from '../../client/process/launch.ts';
import { withScratchFolders } from '../../client/process/scratch-folders.ts';
import type { RunContext } from '../../client/run/context.ts';
import { keyAction } from '../../client/run/key.ts';
import type { TracedRun } from '../../client/run/step-hook.ts';
import { AssayError, isSystemError, messageOf } from '../../core/errors.ts';
import type { Reproduction } from '../../hermeticity/reproduction.ts';
import { removeTemporaryFolder, temporaryFolder } from '../../system/files/temporary-folder.ts';
import { reproduce } from './experiment/reproduce.ts';
import { repeatable } from './repeatable.ts';

/** Other values of the fixed variables: a time zone off by half an hour, and the plainest locale. */
const OTHER_FIXED: Readonly<Record<string, string>> = { TZ: 'Asia/Kolkata', LC_ALL: 'C' };

export async function reproduceRequest(request: RunRequest, context: RunContext): Promise<Reproduction> {
  const declared = new Set(request.variables.map(({ name }) => name));
  const fixed = Object.entries(OTHER_FIXED).filter(([name]) => !declared.has(name));
  return reproduceAction(keyAction(request, context), context, { fixedVariables: Object.fromEntries(fixed) });
}

interface Before {
  readonly seen?: TracedRun;
  readonly fixedVariables?: Readonly<Record<string, string>>;
}

export function reproduceAction(
  action: KeyedAction,
  context: RunContext,
  { seen, fixedVariables = {} }: Before,
): Promise<Reproduction> {
  const { caller, now, stderr } = context;
  return withEarlierState(action, context, (earlierState) =>
    withScratchFolders(action, async (folders) => {
      const stop = new AbortController();
      const release = onSignal((signal) => {
        stop.abort(new AssayError('ASSAY_INTERRUPTED', `by ${signal}`));
      });
      try {
        return await reproduce({
          action: repeatable(action, folders, caller, { seen: seen?.report, earlierState }),
          ...(seen && { ordinaryRun: seen }),
          fixedVariables,
          now,
          signal: stop.signal,
          ...(process.stderr.isTTY && {
            onTrial: (number, varied) => stderr.write(progress(number, varied)),
          }),
        });
      } catch (error) {
        throw isLongPath(error) ? new AssayError('ASSAY_LONG_PATH', messageOf(error).slice(0, SHOWN)) : error;
      } finally {
        release();
      }
    }),
  );
}

/** The prefix of a path as a person knows it. */
const SHOWN = 200;

/** Inside the workspace, or only inside the deeper folder of a copy. */
function isLongPath(error: unknown): boolean {
  if (isSystemError(error, 'ENAMETOOLONG')) return true;
  return error instanceof AssayError && error.code === 'ASSAY_BAD_PATH';
}

/** `work` gets the folder with the state of the nearest earlier run, if there is one. */
async function withEarlierState<T>(
  action: KeyedAction,
  context: RunContext,
  work: (folder: string | undefined) => Promise<T>,
): Promise<T> {
  if (action.request.state.length === 0) return work(undefined);
  const { restoreState } = (await context.stepHook?.()) ?? {};
  const folder = temporaryFolder('state');
  try {
    return await work((await restoreState?.(action, context, folder)) ? folder : undefined);
  } finally {
    removeTemporaryFolder(folder);
  }
}

/** Progress for a terminal: a long command may run a dozen times. */
function progress(number: number, varied: readonly string[]): string {
  return `assay: run ${number}, ${varied.length === 0 ? 'nothing varied' : `varied: ${varied.join(', ')}`}\n`;
}
