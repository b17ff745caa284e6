// The lines to write for each tool, and when the server saw it.
import {
  BOOLEAN,
  type Described,
  listOf,
  NUMBER,
  object,
  optionalField,
  STRING,
} from '../../../../core/metadata/json-schema.ts';

const TOOL_SETUP = object({
  /** "Bazel, gRPC" */
  name: STRING,
  /** What to write, with this server's address. */
  snippet: STRING,
  /** The light is green if it is there. */
  lastRequestAt: optionalField(STRING),
  /** Its requests can't be told from those of this other tool, so it has no light of its own. */
  countsAs: optionalField(STRING),
  lookupsToday: NUMBER,
});

export type ToolSetup = Described<typeof TOOL_SETUP>;

export const SETUP = object({
  /** As the request addressed it. */
  address: STRING,
  needsToken: BOOLEAN,
  tools: listOf(TOOL_SETUP),
});

export type Setup = Described<typeof SETUP>;
