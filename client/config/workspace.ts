// Loads a workspace: its root, its packages, and every step of every package. The root is the folder of the
// nearest assay.json, or of one above it that has the nearest folder as a package. All files are read through
// one StatRecorder, so that the result can be remembered (../up-to-date/graph-state.ts).
import { join as joinPath } from 'node:path';
import type { Located } from '../../core/config/document.ts';
import { AssayError } from '../../core/errors.ts';
import { ROOT } from '../../core/path.ts';
import { CONFIG_FILE, foldersWithConfig } from '../action/workspace-roots.ts';
import { StatRecorder } from '../files/stat-recorder.ts';
import { IgnoredPaths } from '../inputs/ignored-paths.ts';
import { DependencyResolver } from './dependencies.ts';
import type { Defaults, StepInFile } from './file.ts';
import { withImpliedDependencies } from './implied-dependencies.ts';
import { type Package, readPackages, type Texts } from './packages.ts';
import { configFileOf, qualifiedStepId, resolveStep, type Step, unresolvable } from './step.ts';

export interface Workspace {
  /** Absolute, without symbolic links. */
  readonly root: string;
  readonly packages: readonly Package[];
  readonly steps: ReadonlyMap<string, Step>;
  /** The stats of every file that this depends on. */
  readonly stats: StatRecorder;
}

/** The workspace that contains `folder`. */
export async function loadWorkspace(folder: string): Promise<Workspace> {
  const candidates = foldersWithConfig(folder);
  const nearest = candidates.at(-1);
  for (const root of candidates) {
    const stats = new StatRecorder(root);
    const packages = await readPackages(stats);
    if (root === nearest || packages.some((one) => joinPath(root, one.folder) === nearest))
      return { root, packages, steps: stepsOf(packages, stats), stats };
  }
  throw new AssayError('ASSAY_NO_CONFIG', `there is no ${CONFIG_FILE} in ${folder} or in a folder above it`);
}

/** The workspace as it would be with other configuration files. */
export async function workspaceWith(root: string, texts: Texts): Promise<Workspace> {
  const stats = new StatRecorder(root);
  const packages = await readPackages(stats, texts);
  return { root, packages, steps: stepsOf(packages, stats), stats };
}

interface Draft {
  readonly step: Step;
  readonly owner: Package;
  readonly dependsOn: readonly Located[];
  /** Dependencies come from `packageSteps`, so a package need not have the named step. */
  readonly isShared: boolean;
}

function stepsOf(packages: readonly [Package, ...Package[]], stats: StatRecorder): Map<string, Step> {
  const drafts = packages.flatMap((owner) => draftsOf(owner, packages[0]));
  const resolver = new DependencyResolver(packages, new Set(drafts.map(({ step }) => step.id)));
  const steps = drafts.map(({ step, owner, dependsOn, isShared }) => ({
    ...step,
    dependsOn: resolver.resolve(owner, dependsOn, isShared),
  }));
  return new Map(withImpliedDependencies(steps, new IgnoredPaths(stats)).map((step) => [step.id, step]));
}

function draftsOf(owner: Package, root: Package): Draft[] {
  const shared = owner === root ? new Map<string, StepInFile>() : root.file.packageSteps;
  const defaults: Defaults[] =
    owner === root ? [root.file.defaults] : [root.file.defaults, owner.file.defaults];
  const names = new Set([...shared.keys(), ...owner.file.steps.keys()]);
  return [...names].flatMap((name) => {
    const own = owner.file.steps.get(name);
    const fields = { ...shared.get(name)?.fields, ...withoutGaps(own?.fields ?? {}) };
    const source: Step['source'] = own
      ? { file: configFileOf(owner.folder), path: ['steps', name] }
      : { file: configFileOf(ROOT), path: ['packageSteps', name] };
    const step = resolveStep({ owner, name, fields, defaults, source });
    if (!step && own) throw unresolvable(qualifiedStepId(owner.name, name), own.key);
    const isShared = own?.fields.dependsOn === undefined;
    return step ? [{ step, owner, dependsOn: fields.dependsOn ?? [], isShared }] : [];
  });
}

/** Drops undefined fields: they must not hide the defaults. */
function withoutGaps<T extends object>(fields: T): Partial<T> {
  const written: Partial<T> = { ...fields };
  for (const name in written) if (written[name] === undefined) delete written[name];
  return written;
}
