// The steps that a change reaches (changed-paths.ts). A step is reached if a changed path would be among its inputs or is one
// of its programs, if its last run was seen to look there without having declared it (seen-paths.ts), if its own declaration
// or what counts as ignored may have changed, or if a step that it depends on is reached. Rather one too many: that is a hit.
import { realpathSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { isWithin, parentOf, type RelPath } from '../../core/path.ts';
import { requestOf, type StepRequest } from '../config/request.ts';
import type { Step } from '../config/step.ts';
import type { Variables } from '../environment.ts';
import { Coverage } from '../inputs/coverage.ts';
import { keptBy } from '../request.ts';
import { findTool } from '../tool-look.ts';
import type { Tool } from '../tools.ts';
import { type ChangedPath, changedPaths } from './changed-paths.ts';
import type { StepTable } from './graph.ts';
import { type SeenPaths, wasSeen } from './seen-paths.ts';

export interface Change {
  readonly root: string;
  readonly steps: StepTable;
  readonly caller: Variables;
  /** What is known of earlier runs. */
  readonly seen: SeenPaths;
}

/** `ref`: "" for where the branch left the main one. */
export function affectedBy(ref: string, change: Change): Set<string> {
  const { root, steps, caller } = change;
  const changed = changedPaths(root, ref, caller);
  const reached = new Set<string>();
  for (const step of steps.values()) if (isReached(step, changed, change)) reached.add(step.id);
  for (let grown = -1; grown !== reached.size; ) {
    grown = reached.size;
    for (const { id, dependsOn } of steps.values())
      if (dependsOn.some((one) => reached.has(one))) reached.add(id);
  }
  return reached;
}

/** Of a step, of the packages, and of what a package manager installs for both. */
const DECLARATIONS: readonly string[] = [
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

function isReached(
  step: Step,
  changed: readonly ChangedPath[],
  { root, steps, caller, seen }: Change,
): boolean {
  const asked = requestOf(step, { root, steps }, caller);
  const { request } = asked;
  const coverage = new Coverage(request);
  const own = new Set<string>([
    ...[step.folder, ''].flatMap((folder) => DECLARATIONS.map((name) => join(folder, name))),
    ...programsOf(step, asked),
  ]);
  const decidesOnInputs = (path: RelPath) =>
    !request.includeIgnored && basename(path) === '.gitignore' && coverage.reachesInto(parentOf(path));
  const looked = seen.get(step.id) ?? [];
  return changed.some((one) => {
    const { path, isRepository } = one;
    if ((request.observed || wasSeen(one, looked)) && !isMadeBy(step, path)) return true;
    if (own.has(path) || decidesOnInputs(path)) return true;
    return isRepository ? coverage.reachesInto(path) : coverage.covers(path);
  });
}

/** Where its programs lie in the workspace: as they are named, and as they are found. */
function programsOf({ tools, programs }: Step, { request, caller }: StepRequest): string[] {
  const { workspace, workingDirectory, command } = request;
  const path = caller.PATH ?? '';
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

function filesOf({ file, interpreters }: Tool): string[] {
  return [file, realpathSync(file), ...interpreters.flatMap(filesOf)];
}

/** True for what a step makes or keeps for itself: not a change of anything. */
export function isOutput(path: RelPath, steps: StepTable): boolean {
  return steps.values().some((step) => isMadeBy(step, path));
}

function isMadeBy(step: Step, path: RelPath): boolean {
  return [...step.outputs, ...keptBy(step)].some((output) => isWithin(path, output));
}
