// Executes a command in the strict environment, streams its output and records its log.
// The command finds none of its earlier outputs, unless the run restored the state that they belong to.
import { join } from 'node:path';
import type { Tries } from '../../core/metadata/run-report.ts';
import type { RelPath } from '../../core/path.ts';
import { absPath } from '../../system/paths/absolute-path.ts';
import { actualEnvironment, type ScratchFolders } from '../action/environment.ts';
import type { OwnedCache } from '../action/owned-caches.ts';
import { programPlaces } from '../action/program-folders.ts';
import type { RunRequest } from '../action/request.ts';
import { hasUtf8Path } from '../files/current-folder.ts';
import type { KeyedAction } from '../inputs/keyed-action.ts';
import { RUN } from '../limits.ts';
import { findEarlierCaches } from '../outputs/earlier-caches.ts';
import { removeNewCaches } from '../outputs/new-caches.ts';
import { existsAt, setOutputsAside } from '../outputs/set-aside.ts';
import type { Launcher } from '../process/launch.ts';
import { type Log, LogRecorder } from '../process/log.ts';
import { withScratchFolders } from '../process/scratch-folders.ts';
import { toolVariables } from '../process/tool-variables.ts';
import type { RunEvent } from '../terminal/events.ts';
import { missedFolder } from '../trace/output-folders.ts';
import { sandboxedLauncher, sandboxPath } from '../trace/sandbox.ts';
import { missingProgram, otherRuntime } from '../trace/sought-programs.ts';
import type { Watched } from '../trace/trace.ts';
import { type MaybeWatched, untraceable, watchedLauncher } from '../trace/watch.ts';
import type { RunContext } from './context.ts';

export interface Execution extends MaybeWatched {
  readonly startedAt: number;
  readonly commandMs: number;
  readonly log: Log;
  /** Outputs of an earlier run that were set aside before the command started. */
  readonly earlierOutputs: readonly RelPath[];
  /** Why the outputs may contain something that this run did not make. */
  readonly outputFault?: string;
  /** The run whose state the command started with, if any: a clean run might have made other outputs. */
  readonly earlierState?: string;
  /** An attempt under a tracer, which failed. The command then ran once more, unwatched. */
  readonly attempt?: Watched | undefined;
  /** Of a command that was run again after it had failed (--retry). This is its last try. */
  readonly tries?: Tries;
}

/** Variables that the command sees and that are not in its key. */
type UnkeyedVariables = (folders: ScratchFolders) => Readonly<Record<string, string>>;

export interface Preparation {
  readonly unkeyed?: UnkeyedVariables;
  /**
   * Called before each attempt. Restores the state of an earlier run and names that run; undefined if there
   * is none.
   */
  restoreState?(): Promise<string | undefined>;
}

export async function execute(
  action: KeyedAction,
  context: RunContext,
  preparation: Preparation = {},
): Promise<Execution> {
  const { request } = action;
  const attempt = async <T extends MaybeWatched>(launcherFor: LauncherFor<T>): Promise<T & Execution> => {
    const earlierState = await preparation.restoreState?.();
    const { unkeyed } = preparation;
    const overEarlier = earlierState !== undefined;
    const execution = await executeBy(launcherFor, action, context, { unkeyed, overEarlier });
    return earlierState === undefined ? execution : { ...execution, earlierState };
  };
  const watched = await attempt(launcherOf(action, context));
  const hindrance = request.hermetic === 'strict' ? undefined : hindranceOf(watched, request);
  if (hindrance === undefined) return watched;
  const { symptom, cause } = hindrance;
  context.report({ type: 'unwatched', why: `${symptom}, so it runs once more (${cause})` });
  const unwatched = { ...action, request: { ...request, hermetic: 'off', observed: false } } as const;
  const again = await attempt(launcherOf(unwatched, context));
  return { ...again, unwatched: `${symptom} (${cause})`, attempt: watched.watched };
}

function launcherOf(action: KeyedAction, { report }: RunContext): LauncherFor<MaybeWatched> {
  const { request } = action;
  return request.sandbox ? sandboxedLauncher(action, report) : watchedLauncher(request, report);
}

/**
 * Some programs do not work under a tracer: those that trace others (gdb, LeakSanitizer), and those that need
 * the rights of their file (set-user-ID). Some of them fail without an error. A tracer must not fail a build.
 * So a command runs once more without it if one of these ran, and the command failed or made no output.
 */
function hindranceOf(
  execution: Execution,
  { outputs, workspace }: RunRequest,
): { readonly symptom: string; readonly cause: string } | undefined {
  const { exitCode, signal, watched } = execution;
  const cause = watched && untraceable(watched.report);
  if (cause === undefined || signal !== undefined) return undefined;
  const missing = outputs.find((path) => !existsAt(workspace, path));
  if (exitCode === 0 && missing === undefined) return undefined;
  const symptom = exitCode === 0 ? `it did not make ${missing}` : 'it failed';
  return { symptom: `${symptom} under the tracer`, cause };
}

interface Attempt {
  readonly unkeyed?: UnkeyedVariables | undefined;
  /** The command keeps its earlier outputs: they belong to its state, and it may not make them again. */
  readonly overEarlier?: boolean;
}

type LauncherFor<T extends MaybeWatched> = (folders: ScratchFolders) => Launcher<T>;

/** `launcherFor` gets the scratch folders of the action. */
export async function executeBy<T extends MaybeWatched>(
  launcherFor: LauncherFor<T>,
  action: KeyedAction,
  context: Pick<RunContext, 'caller' | 'stdout' | 'stderr' | 'report' | 'now' | 'signal' | 'scratch'>,
  { unkeyed = () => ({}), overEarlier = false }: Attempt = {},
): Promise<T & Execution> {
  const { request, environment } = action;
  const earlier = findEarlierCaches(action);
  const aside = setOutputsAside(request, overEarlier ? [] : request.outputs, earlier.caches);
  for (const event of cacheEvents(aside.caches)) context.report(event);
  const recorder = new LogRecorder();
  let failed = true;
  try {
    return await withScratchFolders(
      action,
      async (folders) => {
        const startedAt = context.now();
        const env = {
          ...toolVariables(action, folders.tmp),
          ...actualEnvironment(environment, folders, programPlaces(request)),
          ...unkeyed(folders),
        };
        const end = await launcherFor(folders)({
          argv: [programOf(action), ...request.command.slice(1)],
          cwd: join(request.workspace, request.workingDirectory),
          env,
          onOutput(stream, bytes) {
            recorder.add(stream, bytes);
            context[stream].write(bytes);
          },
          onStarted: (pid) => aside.recordWriter(pid),
          signal: context.signal,
        });
        failed = end.exitCode !== 0;
        const log = recorder.finish();
        const { watched } = end;
        if (watched?.where === 'machine') removeNewCaches(request, watched.report, earlier.isInUse);
        const missed = failed && missedFolder(aside.missingFolders, request.workspace, { watched, log });
        if (missed) context.report({ type: 'folder-missing', folder: missed });
        const sought = { request, caller: context.caller, path: env.PATH ?? '', bin: folders.bin };
        const event =
          (failed ? missingProgram(sought, log, watched) : undefined) ??
          (watched && otherRuntime(sought, watched));
        if (event) context.report(event);
        const tooLong = recorder.tooLong && {
          logFault: `the command said more than ${RUN.maxLogBytes} bytes`,
        };
        const unmade = failed ? undefined : aside.missing();
        const fault = aside.fault ?? (unmade && `its declared output ${unmade} is missing`);
        const outputFault = fault !== undefined && { outputFault: fault };
        return {
          ...end,
          ...tooLong,
          ...outputFault,
          earlierOutputs: aside.earlier,
          startedAt,
          commandMs: context.now() - startedAt,
          log,
        };
      },
      {
        locate: toolLocation(request),
        pool: context.scratch,
        traceOf: ({ watched }) => (watched?.where === 'machine' ? watched.report : undefined),
      },
    );
  } finally {
    for (const lost of aside.finish(failed && request.cacheFailures !== true))
      context.report({ type: 'cache-not-put-back', ...lost });
    earlier.done();
  }
}

/** One event for each tool. */
function cacheEvents(caches: readonly OwnedCache[]): RunEvent[] {
  return [...Map.groupBy(caches, ({ tool }) => tool)].map(([tool, of]) => ({
    type: 'caches-set-aside',
    tool,
    paths: of.map(({ path }) => path),
  }));
}

/** An open folder has its name in this process only. A program in it is started by its path from the working directory. */
function programOf({ request: { workspace, command }, tools }: KeyedAction): string {
  const [program] = tools;
  const isInOpenFolder = !hasUtf8Path(workspace) && program.file.startsWith(`${workspace}/`);
  return isInOpenFolder ? (command[0] ?? program.file) : program.file;
}

/** The path at which the command sees a tool. */
function toolLocation({ sandbox, workspace }: RunRequest): (file: string) => string {
  return (file) => (sandbox ? sandboxPath(absPath(file), absPath(workspace)) : file);
}
