// Causes of misses, ranked by the time that they cost.
import {
  type Described,
  listOf,
  NUMBER,
  object,
  optionalField,
  STRING,
} from '../../../../core/metadata/json-schema.ts';
import { CAUSE } from './parts.ts';

const MISS_ROW = object({
  cause: CAUSE,
  /** As a sentence, such as "VERSION.txt changed". */
  text: STRING,
  count: NUMBER,
  lostMs: NUMBER,
  /** Of all lost time. */
  share: NUMBER,
  /** The steps that lost most, at most 5. */
  steps: listOf(
    object({
      step: STRING,
      repository: optionalField(STRING),
      count: NUMBER,
      lostMs: NUMBER,
    }),
  ),
  whatToDo: STRING,
  /** A run where it happened. */
  example: object({
    run: STRING,
    step: STRING,
    at: STRING,
  }),
});

export type MissRow = Described<typeof MISS_ROW>;

export const MISSES = object({
  /** The begin of the first day, in UTC: misses are added up by day. */
  from: STRING,
  to: STRING,
  /** When they were read. Absent while they are read for the first time. */
  readAt: optionalField(STRING),
  runs: NUMBER,
  misses: NUMBER,
  /** The duration of the commands of all misses. */
  lostMs: NUMBER,
  /** Ranked by lostMs. */
  causes: listOf(MISS_ROW),
  /** Beyond those listed. */
  moreCauses: NUMBER,
});

export type Misses = Described<typeof MISSES>;
