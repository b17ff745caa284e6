// Opens the workspace of a graph run: from the remembered state if the configuration is unchanged, else from
// files.
import { relative } from 'node:path';
import type { Variables } from '../action/environment.ts';
import { foldersWithConfig } from '../action/workspace-roots.ts';
import type { StepTable } from '../config/step.ts';
import { rowOf } from '../files/stat-table.ts';
import type { ReadConfig } from '../up-to-date/absent-paths.ts';
import { GraphState } from '../up-to-date/graph-state.ts';
import { refuseSharedOutputs } from './graph.ts';

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

async function readWorkspace(
  folder: string,
  storeFolder: string,
  caller: Variables,
): Promise<OpenedWorkspace> {
  const read = await readFiles(folder);
  return { ...read, state: GraphState.open(storeFolder, { root: read.root }, caller) };
}

/** Loads the parser only here: an up-to-date workspace does not need it. */
async function readFiles(
  folder: string,
): Promise<Pick<OpenedWorkspace, 'root' | 'steps'> & { readonly config: ReadConfig }> {
  const readAt = Date.now();
  const [{ loadWorkspace }, { refuseUnorderedInputs }] = await Promise.all([
    import('../config/workspace.ts'),
    import('./unordered-inputs.ts'),
  ]);
  const { root, steps, stats: recorder } = await loadWorkspace(folder);
  refuseSharedOutputs(steps);
  refuseUnorderedInputs(steps, recorder);
  const rows = new Map([...recorder.recorded].map(([name, stats]) => [name, rowOf(stats)]));
  return { root, steps, config: { stats: { rows, traversed: recorder.traversed() }, readAt } };
}

/**
 * The configuration as it is read now: commands change the times of folders that it lists. Undefined if it has other
 * steps by now, or can't be read.
 */
export async function readConfigAgain(
  opened: Pick<OpenedWorkspace, 'root' | 'steps'>,
): Promise<ReadConfig | undefined> {
  try {
    const { root, steps, config } = await readFiles(opened.root);
    return root === opened.root && textOf(steps) === textOf(opened.steps) ? config : undefined;
  } catch {
    return undefined;
  }
}

function textOf(steps: StepTable): string {
  return JSON.stringify([...steps.values()]);
}
