// A wing: a part of Assay that the trunk does not need, in a folder of wings/.
// Its index.ts exports one such record, `wing`, and imports its own modules only when they are needed.
import type { CommandEntry, CommandModule } from './command.ts';

/** `Ports`: what the commands get of all wings of the build. */
export interface Wing<Ports = unknown> {
  readonly commands: Readonly<Record<string, CommandOfWing<Ports>>>;
}

interface CommandOfWing<Ports> extends Pick<CommandEntry, 'summary' | 'isServers'> {
  load(ports: Ports): Promise<CommandModule>;
}
