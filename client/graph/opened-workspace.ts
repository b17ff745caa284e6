// The workspace that a run of a graph is about: recalled if its configuration looks as it did, else read.
import { join, relative } from 'node:path';
import type { Variables } from '../action/environment.ts';
import { foldersWithConfig } from '../action/workspace-roots.ts';
import { rowOf } from '../files/stat-table.ts';
import { clientFolder } from '../local-store/client-folder.ts';
import { storeFolder } from '../local-store/store-folder.ts';
import type { Looks } from '../up-to-date/absent-paths.ts';
import { GraphMemo } from '../up-to-date/graph-state.ts';
import { refuseSharedOutputs, type StepTable } from './graph.ts';

export interface ReadConfig {
  readonly looks: Looks;
  readonly readAt: number;
}

export interface OpenedWorkspace {
  readonly root: string;
  readonly steps: StepTable;
  readonly memo: GraphMemo | undefined;
  /** What the configuration was read from, and when; absent if it was recalled. */
  readonly config?: ReadConfig;
}

export function memoFolder(store: string | undefined): string {
  return join(clientFolder(storeFolder(store, process.env)), 'graph');
}

export async function openWorkspace(
  folder: string,
  memoFolder: string,
  caller: Variables,
): Promise<OpenedWorkspace> {
  const candidates = foldersWithConfig(folder);
  const [outermost] = candidates;
  const memo = outermost === undefined ? undefined : GraphMemo.open(memoFolder, outermost, caller);
  const steps = memo?.steps();
  if (outermost !== undefined && steps && holds(steps, outermost, candidates.at(-1) ?? ''))
    return { root: outermost, steps, memo };
  return readWorkspace(folder, memoFolder, caller);
}

/** Whether the nearest folder with a configuration is the root's own or that of one of its packages. */
function holds(steps: StepTable, root: string, nearest: string): boolean {
  const folder = relative(root, nearest);
  return folder === '' || steps.values().some((step) => step.folder === folder);
}

/** The parser and what belongs to it are loaded only here. */
async function readWorkspace(
  folder: string,
  memoFolder: string,
  caller: Variables,
): Promise<OpenedWorkspace> {
  const readAt = Date.now();
  const [{ loadWorkspace }, { refuseUnorderedInputs }] = await Promise.all([
    import('../config/workspace.ts'),
    import('./unordered-inputs.ts'),
  ]);
  const { root, steps, observations } = await loadWorkspace(folder);
  refuseSharedOutputs(steps);
  refuseUnorderedInputs(steps, observations);
  const rows = new Map([...observations.seen].map(([name, stats]) => [name, rowOf(stats)]));
  const looks = { rows, passed: observations.passed() };
  return { root, steps, memo: GraphMemo.open(memoFolder, root, caller), config: { looks, readAt } };
}
