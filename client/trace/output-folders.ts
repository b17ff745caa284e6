// The folders of outputs that a command needs: it writes below them, and neither makes nor looks for them.
// Assay does not make them, so a result holds only where they exist.
import { isWithin, type RelPath } from '../../core/path.ts';
import { SANDBOX } from '../../hermeticity/sandbox/sandbox.ts';
import type { Access, PathAccess, TraceReport } from '../../hermeticity/trace/access.ts';
import { absPath, inside, isAtOrBelow, relativeIn } from '../../system/paths/absolute-path.ts';
import type { RunRequest } from '../action/request.ts';
import { isInRepository, isTracked } from '../inputs/git-tracked.ts';
import type { KeyedAction } from '../inputs/keyed-action.ts';
import { foldersOfOutputs } from '../outputs/outputs.ts';
import { existsAt } from '../outputs/set-aside.ts';
import type { Log } from '../process/log.ts';
import type { Watched } from './trace.ts';

/** The report with a probe of each needed folder: a write below a folder shows that the folder exists. */
export function withFolderProbes(report: TraceReport, { request, inputs }: KeyedAction): TraceReport {
  const needed = neededFolders(request, report.accesses);
  if (needed.length === 0) return report;
  const declared = inputs.entries();
  const probes = needed.flatMap(({ folder, access }): PathAccess[] => {
    if (declared.some(({ path }) => isWithin(path, folder))) return [];
    const { process, atMs } = access;
    return [{ kind: 'probe', path: inside(absPath(request.workspace), folder), process, atMs }];
  });
  return { ...report, accesses: [...report.accesses, ...probes] };
}

/**
 * Those that a clean copy lacks, the outermost of each: no input lies in them, and git tracks nothing there.
 * `folders`: other candidates than the folders above the outputs.
 */
export function missingInCleanCopy(
  request: Pick<RunRequest, 'workspace' | 'outputs'>,
  accesses: readonly Access[],
  inputs: readonly RelPath[],
  folders?: readonly RelPath[],
): RelPath[] {
  const { workspace } = request;
  const missing = neededFolders(request, accesses, folders)
    .map(({ folder }) => folder)
    .filter((folder) => !inputs.some((path) => isWithin(path, folder)))
    .filter((folder) => !isInRepository(workspace) || isTracked(workspace, folder) === false);
  return missing.filter((folder) => !missing.some((other) => other !== folder && isWithin(folder, other)));
}

interface NeededFolder {
  readonly folder: RelPath;
  /** The first write below it. */
  readonly access: Access;
}

/** `accesses`: with paths of the machine, not of a sandbox. */
export function neededFolders(
  { workspace, outputs }: Pick<RunRequest, 'workspace' | 'outputs'>,
  accesses: readonly Access[],
  among: readonly RelPath[] = foldersOfOutputs(outputs),
): NeededFolder[] {
  const folders = new Set(among);
  if (folders.size === 0) return [];
  const root = absPath(workspace);
  const known = new Set<RelPath>();
  const writes: { readonly path: RelPath; readonly access: Access }[] = [];
  for (const access of accesses) {
    const paths = 'to' in access ? [access.path, access.to] : 'path' in access ? [access.path] : [];
    for (const at of paths) {
      const path = relativeIn(root, at);
      if (path === undefined) continue;
      if (folders.has(path)) known.add(path);
      else if (MAKING.has(access.kind) && outputs.some((output) => isWithin(path, output)))
        writes.push({ path, access });
    }
  }
  return [...folders].flatMap((folder) => {
    const first = known.has(folder) ? undefined : writes.find(({ path }) => isWithin(path, folder));
    return first ? [{ folder, access: first.access }] : [];
  });
}

/**
 * Of folders that were missing when a command started, one that it may have failed for: it is still missing,
 * the command asked for something in it, and said that something was not found.
 */
export function missedFolder(
  missing: readonly RelPath[],
  workspace: string,
  { watched, log }: { readonly watched?: Watched | undefined; readonly log: Log },
): RelPath | undefined {
  if (missing.length === 0 || !saysNotFound(log)) return undefined;
  const root = absPath(watched?.where === 'sandbox' ? SANDBOX.workspace : workspace);
  const isAsked = (folder: RelPath) =>
    !watched ||
    watched.report.accesses.some(
      (access) => access.kind === 'absent' && isAtOrBelow(access.path, inside(root, folder)),
    );
  return missing.filter((folder) => !existsAt(workspace, folder)).findLast(isAsked);
}

/** At its end, where a command says why it failed. */
function saysNotFound({ stdout, stderr }: Log): boolean {
  return [stdout, stderr].some((said) =>
    NOT_FOUND.test(Buffer.from(said.subarray(-LAST_BYTES)).toString('latin1')),
  );
}

const LAST_BYTES = 1 << 16;
const NOT_FOUND = /no such file|nonexistent|not found|ENOENT|os error 2\b/i;

const MAKING: ReadonlySet<Access['kind']> = new Set(['write', 'rename', 'hardlink', 'symlink']);
