// Runs an action under a tracer, and translates its declaration into the terms of hermeticity/.
import { readFileSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { AssayError } from '../../core/errors.ts';
import { type RelPath, toSystemPath } from '../../core/path.ts';
import type { TraceReport } from '../../hermeticity/trace/access.ts';
import { NativeTracer } from '../../hermeticity/trace/native.ts';
import type { Tracer } from '../../hermeticity/trace/tracer.ts';
import type { DeclaredAccess } from '../../hermeticity/verdict/declaration.ts';
import { type AbsPath, absPath, FILESYSTEM_ROOT, foldersAbove } from '../../system/paths/absolute-path.ts';
import { installationOf } from '../../system/paths/installation.ts';
import { type ScratchFolders, searchPathOf } from '../action/environment.ts';
import { programPlaces } from '../action/program-folders.ts';
import { type RunRequest, stateAndCheckpointPaths } from '../action/request.ts';
import { folderEntries } from '../files/list-folder.ts';
import { Coverage } from '../inputs/coverage.ts';
import type { KeyedAction } from '../inputs/keyed-action.ts';
import { homeFolder } from '../local-store/store-folder.ts';
import { Homes } from '../path-sets/homes.ts';
import { type CommandEnd, commandEndOf, type Launcher, onStop } from '../process/launch.ts';
import type { Tool } from '../tools/tools.ts';

export interface Watched {
  readonly where: 'machine' | 'sandbox';
  readonly report: TraceReport;
  /** The scratch folders of the action; they are removed by now. */
  readonly folders: ScratchFolders;
}

/** Refuses a machine on which commands cannot be traced. */
export async function workingTracer(): Promise<Tracer> {
  const tracer = new NativeTracer();
  const trial = await tracer.available();
  if (!trial.available) throw new AssayError('ASSAY_NO_TRACER', `${tracer.name}: ${trial.reason}`);
  return tracer;
}

interface Traced extends CommandEnd {
  readonly watched: Watched;
}

export function tracedBy(
  tracer: Tracer,
  where: Watched['where'] = 'machine',
): (folders: ScratchFolders) => Launcher<Traced> {
  return (folders) =>
    async ({ argv, cwd, env, onOutput, onStarted, signal }) => {
      const stop = new AbortController();
      const release = onStop(signal, (name) => stop.abort(name));
      try {
        const report = await tracer.run({
          argv,
          cwd,
          env,
          output: onOutput,
          startedAs: onStarted,
          signal: stop.signal,
        });
        return {
          ...commandEndOf(report.exit),
          ...survivorFault(report),
          watched: { report, folders, where },
        };
      } finally {
        release();
      }
    };
}

/** A process that outlived the command may still have written output. */
function survivorFault({ processes }: TraceReport): Pick<CommandEnd, 'logFault'> {
  const survived = processes.some((process) => process.survived);
  return survived ? { logFault: 'the command left a process running, which was ended' } : {};
}

export function declarationOf(
  action: KeyedAction,
  { home, tmp, bin }: ScratchFolders,
  homes: Homes = new Homes(),
): DeclaredAccess {
  const { request, tools, environment } = action;
  const coverage = new Coverage(request);
  const keepOut = neverToolFolders(request.workspace);
  return {
    workspace: absPath(request.workspace),
    inputs: new Set(action.inputs.entries().map((entry) => entry.path)),
    covers: (candidate) => coverage.covers(candidate),
    growsIn: (folder) => coverage.growsIn(folder),
    namesIn: (folder: RelPath) => folderEntries(request.workspace, folder).map(({ name }) => name),
    textOf: (path) => textOrEmpty(toSystemPath(request.workspace, path)),
    realPathOf: (text) => realPathFrom(resolve(request.workspace, request.workingDirectory), text),
    packageOf: packageName,
    outputs: request.outputs,
    scratch: [home, tmp, ...statePaths(request)].map(absPath),
    ...temporaryFolder(action),
    tools: [
      ...tools.flatMap((tool) => toolPaths(tool, keepOut)),
      ...homes.ownSoftware(absPath(request.workspace)).map(({ folder }) => folder),
      ...(bin === undefined ? [] : [absPath(bin)]),
    ],
    trees: [...(action.inputs.links?.().trees.values() ?? [])],
    searchPath: [...programPlaces(request).flatMap(withRealPath), ...searchPathOf(environment)],
    variables: environment.map(({ value }) => value),
  };
}

/** The TMPDIR that the action declares, without links. */
function temporaryFolder({ request, environment }: KeyedAction): Pick<DeclaredAccess, 'temporary'> {
  const declared = environment.find(({ name }) => name === 'TMPDIR')?.value ?? '';
  if (declared === '') return {};
  const folder = resolve(request.workspace, request.workingDirectory, declared);
  try {
    const temporary = absPath(realpathSync(folder));
    return temporary === FILESYSTEM_ROOT ? {} : { temporary };
  } catch {
    return {};
  }
}

function realPathFrom(folder: string, text: string): AbsPath | undefined {
  try {
    return absPath(realpathSync(resolve(folder, text)));
  } catch {
    return undefined;
  }
}

/** A link may lead to the folder, and the tracer reports real paths. */
function withRealPath(folder: string): AbsPath[] {
  const real = realPathFrom(folder, '.');
  return [absPath(folder), ...(real === undefined ? [] : [real])];
}

/** The name in the nearest package.json above a file. */
export function packageName(file: AbsPath): string | undefined {
  for (const folder of foldersAbove(file)) {
    const [, name] = /"name"\s*:\s*"([^"]*)"/.exec(textOrEmpty(`${folder}/package.json`)) ?? [];
    if (name !== undefined) return name;
  }
  return undefined;
}

export function textOrEmpty(file: Buffer | string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** Folders that never count as a tool's installation. */
export function neverToolFolders(workspace: string): AbsPath[] {
  return [workspace, homeFolder()].map(absPath);
}

/** The action's own state folders: reading them is not a finding. */
function statePaths(request: RunRequest): string[] {
  return stateAndCheckpointPaths(request).map((path) => toSystemPath(request.workspace, path).toString());
}

/** The tool's file by its path and by its real path, its installation, and the same for its interpreters. */
export function toolPaths(tool: Tool, keepOut: readonly AbsPath[]): AbsPath[] {
  const names = [absPath(tool.file), absPath(tool.real)];
  const installations = names.flatMap((name) => installationOf(name, keepOut) ?? []);
  return [...names, ...installations, ...tool.interpreters.flatMap((each) => toolPaths(each, keepOut))];
}
