// Opens the workspace of a graph run: from the remembered state if the configuration is unchanged, else from
// files.
import { relative } from 'node:path';
import type { Variables } from '../action/environment.ts';
import { foldersWithConfig } from '../action/workspace-roots.ts';
import { rowOf } from '../files/stat-table.ts';
import type { PathStats } from '../up-to-date/absent-paths.ts';
import { GraphState } from '../up-to-date/graph-state.ts';
import { refuseSharedOutputs, type StepTable } from './graph.ts';

export interface ReadConfig {
  readonly stats: PathStats;
  readonly readAt: number;
}

export interface OpenedWorkspace {
  readonly root: string;
  readonly steps: StepTable;
  readonly state: GraphState | undefined;
  /** The files that the configuration was read from, and when. Absent if the state was up to date. */
  readonly config?: ReadConfig;
}

export async function openWorkspace(
  folder: string,
  storeFolder: string,
  caller: Variables,
): Promise<OpenedWorkspace> {
  const candidates = foldersWithConfig(folder);
  const [outermost] = candidates;
  const state =
    outermost === undefined ? undefined : GraphState.open(storeFolder, { root: outermost }, caller);
  const steps = state?.steps();
  if (outermost !== undefined && steps && holds(steps, outermost, candidates.at(-1) ?? ''))
    return { root: outermost, steps, state };
  return readWorkspace(folder, storeFolder, caller);
}

/** True if the nearest folder with a configuration is the root or one of its packages. */
function holds(steps: StepTable, root: string, nearest: string): boolean {
  const folder = relative(root, nearest);
  return folder === '' || steps.values().some((step) => step.folder === folder);
}

/** Loads the parser only here: an up-to-date workspace does not need it. */
async function readWorkspace(
  folder: string,
  storeFolder: string,
  caller: Variables,
): Promise<OpenedWorkspace> {
  const readAt = Date.now();
  const [{ loadWorkspace }, { refuseUnorderedInputs }] = await Promise.all([
    import('../config/workspace.ts'),
    import('./unordered-inputs.ts'),
  ]);
  const { root, steps, stats: recorder } = await loadWorkspace(folder);
  refuseSharedOutputs(steps);
  refuseUnorderedInputs(steps, recorder);
  const rows = new Map([...recorder.recorded].map(([name, stats]) => [name, rowOf(stats)]));
  const stats = { rows, traversed: recorder.traversed() };
  return { root, steps, state: GraphState.open(storeFolder, { root }, caller), config: { stats, readAt } };
}
