// Decides which changed paths concern a step: its inputs and tools, its declaration, .gitignore files that
// select its inputs, and paths that its last run accessed without declaring them (seen-paths.ts).
import { basename, join, relative, resolve } from 'node:path';
import { isWithin, parentOf, type RelPath } from '../../core/path.ts';
import type { PathSet } from '../../core/path-set.ts';
import type { Variables } from '../action/environment.ts';
import { toolPathOf } from '../action/program-folders.ts';
import { type RunRequest, stateAndCheckpointPaths } from '../action/request.ts';
import { requestOf } from '../config/request.ts';
import type { Step, StepTable } from '../config/step.ts';
import { Coverage } from '../inputs/coverage.ts';
import { findTool } from '../tools/tool-stamp.ts';
import type { Tool } from '../tools/tools.ts';
import type { ChangedPath } from './changed-paths.ts';
import { type SeenPaths, wasSeen } from './seen-paths.ts';

export interface ReachContext {
  readonly root: string;
  readonly steps: StepTable;
  readonly caller: Variables;
  /** The paths that earlier runs accessed. */
  readonly seen: SeenPaths;
}

export class StepReach {
  readonly #step: Step;
  readonly #request: RunRequest;
  readonly #coverage: Coverage;
  readonly #own: ReadonlySet<string>;
  readonly #seen: PathSet;

  constructor(step: Step, { root, steps, caller, seen }: ReachContext) {
    const request = requestOf(step, { root, steps }, caller);
    this.#step = step;
    this.#request = request;
    this.#coverage = new Coverage(request);
    this.#own = new Set([
      ...[step.folder, ''].flatMap((folder) => DECLARATIONS.map((name) => join(folder, name))),
      ...programsOf(step, request, caller),
    ]);
    this.#seen = seen.get(step.id) ?? [];
  }

  reaches(one: ChangedPath): boolean {
    const { path, isRepository } = one;
    if (wasSeen(one, this.#seen) && !isMadeBy(this.#step, path)) return true;
    if (this.#own.has(path) || this.#decidesOnInputs(path)) return true;
    return isRepository ? this.#coverage.reachesInto(path) : this.#coverage.covers(path);
  }

  /** The same for a folder that appeared or vanished with its contents. */
  reachesFolder(path: RelPath): boolean {
    if (isMadeBy(this.#step, path)) return false;
    return this.#coverage.mayHold(path) || wasSeen({ path, isRepository: true }, this.#seen);
  }

  #decidesOnInputs(path: RelPath): boolean {
    const decides = !this.#request.includeIgnored && basename(path) === '.gitignore';
    return decides && this.#coverage.reachesInto(parentOf(path));
  }
}

/** Files that declare steps, packages and installed dependencies. */
export const DECLARATIONS: readonly string[] = [
  'assay.json',
  'package.json',
  'pnpm-workspace.yaml',
  'package-lock.json',
  'npm-shrinkwrap.json',
  'pnpm-lock.yaml',
  'yarn.lock',
  'bun.lock',
  'bun.lockb',
];

/** The tools of a step inside the workspace: as named, and as resolved. */
function programsOf({ tools, programs }: Step, request: RunRequest, caller: Variables): string[] {
  const { workspace, workingDirectory, command } = request;
  const path = toolPathOf(request, caller);
  const searches = [
    { name: command[0], folder: join(workspace, workingDirectory) },
    ...[...tools, ...programs].map((name) => ({ name, folder: workspace })),
  ];
  return searches.flatMap(({ name, folder }) => {
    const named = name.includes('/') ? [resolve(folder, name)] : [];
    const found = findTool({ name, folder, path });
    return [...named, ...(found ? filesOf(found) : [])].map((file) => relative(workspace, file));
  });
}

function filesOf({ file, real, interpreters }: Tool): string[] {
  return [file, real, ...interpreters.flatMap(filesOf)];
}

/** True for what a step writes: such a change needs no run. */
export function isOutput(path: RelPath, steps: StepTable): boolean {
  return steps.values().some((step) => isMadeBy(step, path));
}

export function isMadeBy(step: Step, path: RelPath): boolean {
  return [...step.outputs, ...stateAndCheckpointPaths(step)].some((output) => isWithin(path, output));
}
