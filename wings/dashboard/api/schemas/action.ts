// One action with its result, and what differs between two.
import {
  type Described,
  listOf,
  NUMBER,
  object,
  optionalField,
  STRING,
} from '../../../../core/metadata/json-schema.ts';
import { CAUSE, DIVERGENCE_ROW, FINDING, LOG_TEXT, OUTCOME, STATUS } from './parts.ts';

const NAME_AND_VALUE = object({
  name: STRING,
  value: STRING,
});

const FILE_ROW = object({
  path: STRING,
  size: optionalField(NUMBER),
  hash: optionalField(STRING),
  /** Of a link. */
  target: optionalField(STRING),
});

export type FileRow = Described<typeof FILE_ROW>;

const ACTION_RESULT_DETAILS = object({
  exitCode: NUMBER,
  commandMs: optionalField(NUMBER),
  outputs: listOf(FILE_ROW),
  moreOutputs: NUMBER,
  stdout: LOG_TEXT,
  stderr: LOG_TEXT,
  status: STATUS,
  facts: listOf(
    object({
      what: STRING,
      state: STRING,
      why: STRING,
    }),
  ),
  findings: listOf(FINDING),
  /** Whose run made it, as that run says itself. */
  receipt: object({
    at: optionalField(STRING),
    where: optionalField(STRING),
    commit: optionalField(STRING),
    assay: optionalField(STRING),
  }),
  /** Another run of the same action made other outputs. Known when the store was read for it. */
  divergence: optionalField(DIVERGENCE_ROW),
  /** The writer, as the server saw it. */
  writer: optionalField(
    object({
      name: STRING,
      protocol: STRING,
      at: STRING,
    }),
  ),
});

export type ActionResultDetails = Described<typeof ACTION_RESULT_DETAILS>;

export const ACTION = object({
  key: STRING,
  namespace: STRING,
  command: listOf(STRING),
  workingDirectory: STRING,
  /** Names only: a value may be a secret. */
  variables: listOf(STRING),
  platform: listOf(NAME_AND_VALUE),
  tools: listOf(NAME_AND_VALUE),
  /** By path. At most 10,000; `moreInputs` counts the rest. */
  inputs: listOf(FILE_ROW),
  moreInputs: NUMBER,
  declaredOutputs: listOf(STRING),
  /** Absent if the server has the action without a result. */
  result: optionalField(ACTION_RESULT_DETAILS),
  /** Steps that had this key, newest first. */
  runs: listOf(
    object({
      run: STRING,
      step: STRING,
      at: STRING,
      outcome: OUTCOME,
    }),
  ),
  /** Other actions of the same step, newest first, to compare with. */
  others: listOf(
    object({
      key: STRING,
      at: STRING,
      step: STRING,
    }),
  ),
});

export type Action = Described<typeof ACTION>;

export const ACTION_DIFFERENCE = object({
  from: STRING,
  to: STRING,
  /** Each as a sentence, the most telling first; and what it is about. */
  differences: listOf(
    object({
      text: STRING,
      cause: CAUSE,
    }),
  ),
});

export type ActionDifference = Described<typeof ACTION_DIFFERENCE>;
