// The newest state of each step as reports of runs write it. A later run replaces it.
// Its documents begin with what a lookup reads (server/history/step-documents.ts).

import type { ReportedFinding, ReportedStep } from '../../core/metadata/run-report-schema.ts';
import { isStepId, type StepId, stepId } from '../../core/metadata/step-id.ts';
import type { EarlierAction, StoredUnkept } from '../../server/history/step-documents.ts';
import type { HermeticStep } from './api/schemas/hermeticity.ts';
import { DASHBOARD } from './limits.ts';

export interface StoredStep extends EarlierAction, HermeticStep {
  readonly list: readonly ReportedFinding[];
}

/** A client of an earlier version names no id: its steps have none beyond their repository and name. */
export function idOf(repository: string | undefined, { step, id }: ReportedStep): StepId {
  return id !== undefined && isStepId(id) ? id : stepId(repository, step);
}

/** At most DASHBOARD.earlierActions. */
export function withUnkept({ actions }: StoredUnkept, added: EarlierAction): StoredUnkept {
  return {
    actions: [added, ...actions.filter(({ key }) => key !== added.key)].slice(0, DASHBOARD.earlierActions),
  };
}
