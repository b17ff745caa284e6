// A wing: a part of Assay that the trunk does not need, in a folder of wings/.
// Its index.ts exports one such record, `wing`, and imports its own modules only when they are needed.
import type { CommandTable } from './command.ts';

export interface Wing {
  readonly commands: CommandTable;
}
