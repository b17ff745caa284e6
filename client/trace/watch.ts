// Chooses how a command is watched: by the tracer, or not at all. If the tracer does not work here, the run
// reports it and goes on unwatched; with --hermetic=strict it fails.
import { AssayError } from '../../core/errors.ts';
import type { PathAccess, TraceReport } from '../../hermeticity/trace/access.ts';
import { NativeTracer } from '../../hermeticity/trace/native.ts';
import { readable } from '../../system/paths/absolute-path.ts';
import type { ScratchFolders } from '../action/environment.ts';
import type { RunRequest } from '../action/request.ts';
import { hasUtf8Path } from '../files/current-folder.ts';
import { type CommandEnd, type Launch, type Launcher, launchDirectly } from '../process/launch.ts';
import type { Report } from '../terminal/events.ts';
import { tracedBy, type Watched } from './trace.ts';

export interface MaybeWatched extends CommandEnd {
  readonly watched?: Watched;
  /** Why nobody watched the command, if the run did not ask for that. */
  readonly unwatched?: string;
}

/** The tracer fails before the command starts if it cannot work here. */
export function watchedLauncher(
  { hermetic, observed, workspace, keepUnproven }: RunRequest,
  report: Report,
): (folders: ScratchFolders) => Launcher<MaybeWatched> {
  if (hermetic === 'off' && !observed) return () => launchDirectly;
  return (folders) => async (launch) => {
    if (!hasUtf8Path(workspace)) return unwatched(NOT_UTF_8, NOT_UTF_8, launch);
    try {
      return await tracedBy(new NativeTracer())(folders)(launch);
    } catch (error) {
      if (!isNoTracer(error)) throw error;
      return unwatched(error.detail, NO_TRACER_WORKS, launch);
    }
  };

  async function unwatched(why: string, gap: string, launch: Launch): Promise<MaybeWatched> {
    if (hermetic === 'strict') throw new AssayError('ASSAY_NO_TRACER', why);
    report({ type: 'unwatched', why, anyCommand: { kept: keepUnproven !== 'no' } });
    return { ...(await launchDirectly(launch)), unwatched: gap };
  }
}

export const NO_TRACER_WORKS = 'no tracer works here';

/** What a command did that does not work under a tracer, or cannot be followed; undefined for none. */
export function untraceable(report: TraceReport): string | undefined {
  const [gap] = report.gaps;
  const program = lackingRights(report);
  return gap ?? (program && `${readable(program.path)} lacked the rights of its file: ${program.withheld}`);
}

/** The first program that lacked the rights of its file, because it was traced. */
function lackingRights({ accesses }: TraceReport): PathAccess | undefined {
  return accesses.find(
    (access): access is PathAccess => access.kind === 'exec' && access.withheld !== undefined,
  );
}

const NOT_UTF_8 = 'the path of the workspace is not UTF-8';

export function isNoTracer(error: unknown): error is AssayError {
  return error instanceof AssayError && error.code === 'ASSAY_NO_TRACER';
}
