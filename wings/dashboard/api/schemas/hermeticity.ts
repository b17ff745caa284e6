// Steps by their evidence, findings and divergences.
import {
  BOOLEAN,
  type Described,
  extended,
  listOf,
  NUMBER,
  object,
  optionalField,
  STRING,
} from '../../../../core/metadata/json-schema.ts';
import { DIVERGENCE_ROW, FINDING, STATUS } from './parts.ts';

const HERMETIC_STEP = object({
  step: STRING,
  repository: optionalField(STRING),
  namespace: STRING,
  status: STATUS,
  at: STRING,
  run: STRING,
  key: optionalField(STRING),
  findings: NUMBER,
});

export type HermeticStep = Described<typeof HERMETIC_STEP>;

const FINDING_ROW = extended(FINDING, {
  step: STRING,
  repository: optionalField(STRING),
  at: STRING,
  run: STRING,
  /** What to write into assay.json, if that would help. */
  lineToWrite: optionalField(STRING),
});

export type FindingRow = Described<typeof FINDING_ROW>;

export const HERMETICITY_ANSWER = object({
  from: STRING,
  to: STRING,
  /** When the steps were read. Absent while they are read for the first time. */
  stepsReadAt: optionalField(STRING),
  counts: object({ declared: NUMBER, observed: NUMBER, unproven: NUMBER, unwatched: NUMBER }),
  /** Every step by its newest run, the least proven first. At most 1000. */
  steps: listOf(HERMETIC_STEP),
  moreSteps: NUMBER,
  /** Newest first. */
  findings: listOf(FINDING_ROW),
  divergences: listOf(DIVERGENCE_ROW),
  moreDivergences: BOOLEAN,
  /** When the store was read for divergences. Absent while it is read for the first time. */
  divergencesReadAt: optionalField(STRING),
});

export type Hermeticity = Described<typeof HERMETICITY_ANSWER>;
