// The newest state of each step, and its newest actions that left no result, as documents of the history under the
// step's id. A later run replaces them. Reports of runs write them; pages and lookups that missed read them.
import type { ReportedFinding, ReportedStep } from '../../core/metadata/run-report.ts';
import { isStepId, type StepId, stepId } from '../../core/metadata/step-id.ts';
import type { Namespace } from '../../core/namespace.ts';
import type { History } from '../../store/history.ts';
import type { HermeticStep } from './api/types.ts';
import { contentOf } from './documents.ts';

export const STEP_KIND = 'step';
export const UNKEPT_KIND = 'step-unkept';

export interface StoredStep extends HermeticStep {
  readonly list: readonly ReportedFinding[];
  /** How its command ended, and why its result was not stored. Absent if it was. */
  readonly exitCode?: number;
  readonly notKept?: string;
}

/** The newest first, each key once. At most MAX_UNKEPT. */
export interface StoredUnkept {
  readonly actions: readonly EarlierAction[];
}

/** An action of a step, and the run that it was in. */
export type EarlierAction = Pick<StoredStep, 'key' | 'namespace' | 'run' | 'at' | 'exitCode' | 'notKept'>;

const MAX_UNKEPT = 8;

/** A client of an earlier version names no id: its steps have none beyond their repository and name. */
export function idOf(repository: string | undefined, { step, id }: ReportedStep): StepId {
  return id !== undefined && isStepId(id) ? id : stepId(repository, step);
}

export function withUnkept({ actions }: StoredUnkept, added: EarlierAction): StoredUnkept {
  return { actions: [added, ...actions.filter(({ key }) => key !== added.key)].slice(0, MAX_UNKEPT) };
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
      ...newest.flatMap((document) => contentOf<StoredStep>(document) ?? []),
      ...unkept.flatMap((document) => contentOf<StoredUnkept>(document)?.actions ?? []),
    ].sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
  };
  return [...(await actionsIn(own === undefined ? [] : [own])), ...(await actionsIn(others))];
}
