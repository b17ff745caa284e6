// Resolves the argument of `explain`, `show` and `diff` to an earlier run: a step's name as `assay run` takes
// it, or a key. A name that is no step here may still be in the history.
import { relative } from 'node:path';
import { usage } from '../../core/cli/command.ts';
import { type Hash, isHash } from '../../core/digest.ts';
import { AssayError } from '../../core/errors.ts';
import { relPathFromUser } from '../../core/path.ts';
import type { Step } from '../config/step.ts';
import { currentFolder } from '../files/current-folder.ts';
import { findEntry } from '../history/find-action.ts';
import { type HistoryEntry, historyOf } from '../history/history.ts';

/**
 * The newest run of a step or key; of anything here if `wanted` is undefined. `store`: the store's folder.
 */
export async function resolveEntry(wanted: string | undefined, store: string): Promise<HistoryEntry> {
  const here = currentFolder();
  const entries = historyOf(store).entries();
  const found = wanted === undefined ? undefined : await resolveStep(wanted, here, store);
  if (!found) return findEntry(wanted, entries, here);
  const { step, root } = found;
  const last = entries.find(({ name, workspace }) => name === step.id && workspace === root);
  if (last) return last;
  if (!step.cache) throw usage(`${step.id} has "cache": false: it runs each time, and leaves no history`);
  return findEntry(step.id, entries, here);
}

/** A full key need not have run here. */
export async function resolveKey(wanted: string, store: string): Promise<Hash> {
  return isHash(wanted) ? wanted : (await resolveEntry(wanted, store)).key;
}

interface ResolvedStep {
  readonly step: Step;
  readonly root: string;
}

/** Undefined if no step matches or the configuration is invalid: the history can still be searched. */
async function resolveStep(wanted: string, here: string, store: string): Promise<ResolvedStep | undefined> {
  const { steps, root } = await stepsNamed(wanted, here, store);
  const own = steps.find(({ id }) => id === wanted);
  const [first, ...others] = own ? [own] : steps;
  if (others.length > 0) {
    const ids = steps.map(({ id }) => id).join(', ');
    throw usage(`${JSON.stringify(wanted)} matches ${steps.length} steps; name one of them: ${ids}`);
  }
  return first && { step: first, root };
}

async function stepsNamed(
  name: string,
  here: string,
  store: string,
): Promise<{ steps: readonly Step[]; root: string }> {
  const { openWorkspace } = await import('../graph/opened-workspace.ts');
  const { selectSteps } = await import('../graph/select/selection.ts');
  try {
    const { steps, root } = await openWorkspace(here, store, process.env);
    const folder = relPathFromUser(relative(root, here));
    return { steps: selectSteps({ names: [name], packages: [], folder }, steps), root };
  } catch (error) {
    if (error instanceof AssayError) return { steps: [], root: here };
    throw error;
  }
}
