// The newest state of each step, and its newest actions that left no result, as documents of the history under the
// step's id. A later run replaces them. Reports of runs write them; pages and lookups that missed read them.
import type { ReportedFinding } from '../../core/metadata/run-report.ts';
import type { StepId } from '../../core/metadata/step-id.ts';
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
  readonly actions: readonly UnkeptAction[];
}

export type UnkeptAction = Pick<StoredStep, 'key' | 'namespace' | 'run' | 'at' | 'exitCode' | 'notKept'>;

const MAX_UNKEPT = 8;

export function withUnkept(
  { actions }: StoredUnkept,
  { key, namespace, run, at, exitCode, notKept }: UnkeptAction,
): StoredUnkept {
  const added = {
    ...{ namespace, run, at },
    ...(key !== undefined && { key }),
    ...(exitCode !== undefined && { exitCode }),
    ...(notKept !== undefined && { notKept }),
  };
  return { actions: [added, ...actions.filter((one) => one.key !== key)].slice(0, MAX_UNKEPT) };
}

/** What lies in the first of these namespaces comes first, then the rest by its time. */
export async function earlierOfStep(
  history: History,
  id: StepId,
  [own, ...others]: readonly Namespace[],
): Promise<{ readonly newest: readonly StoredStep[]; readonly unkept: readonly UnkeptAction[] }> {
  const read = async <T extends object>(kind: string): Promise<T[]> => {
    const documents = [
      ...(own === undefined ? [] : await history.all(kind, id, [own])),
      ...(others.length === 0 ? [] : await history.all(kind, id, others)),
    ];
    return documents.flatMap((document) => contentOf<T>(document) ?? []);
  };
  const newest = await read<StoredStep>(STEP_KIND);
  const unkept = newest.length === 0 ? [] : await read<StoredUnkept>(UNKEPT_KIND);
  return { newest, unkept: unkept.flatMap(({ actions }) => actions) };
}
