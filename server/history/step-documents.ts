// The actions that a step had before, as documents of the history under the step's id: its newest action, and the newest
// ones that left no result. Whoever keeps reports of runs writes them; lookups that missed read them.
import type { StepId } from '../../core/metadata/step-id.ts';
import type { Namespace } from '../../core/namespace.ts';
import type { History } from '../../store/history.ts';
import { contentOf } from './documents.ts';

export const STEP_KIND = 'step';
export const UNKEPT_KIND = 'step-unkept';

/** An action of a step, and the run that it was in. A document of STEP_KIND has at least this. */
export interface EarlierAction {
  readonly key?: string;
  readonly namespace: string;
  readonly run: string;
  readonly at: string;
  /** How its command ended, and why its result was not stored. Absent if it was. */
  readonly exitCode?: number;
  readonly notKept?: string;
  /** How long its command ran. Absent in documents of earlier versions. */
  readonly ranMs?: number;
}

/** The newest first, each key once. */
export interface StoredUnkept {
  readonly actions: readonly EarlierAction[];
}

/** The actions of a step, the newest first: those of the first of these namespaces, then all others. */
export async function earlierOfStep(
  history: History,
  id: StepId,
  [own, ...others]: readonly Namespace[],
): Promise<EarlierAction[]> {
  const actionsIn = async (namespaces: readonly Namespace[]): Promise<EarlierAction[]> => {
    if (namespaces.length === 0) return [];
    const newest = await history.all(STEP_KIND, id, namespaces);
    const unkept = await history.all(UNKEPT_KIND, id, namespaces);
    return [
      ...newest.flatMap((document) => contentOf<EarlierAction>(document) ?? []),
      ...unkept.flatMap((document) => contentOf<StoredUnkept>(document)?.actions ?? []),
    ].sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
  };
  return [...(await actionsIn(own === undefined ? [] : [own])), ...(await actionsIn(others))];
}
