// `assay checkpoint show`: one checkpoint and its files.
import { REMOTE_ENVIRONMENT, REMOTE_FLAGS } from '../../../client/commands/store-flags.ts';
import { inOneLine, SyncStream } from '../../../client/terminal/sync-stream.ts';
import { type CommandModule, parseFlags } from '../../../core/cli/command.ts';
import { bytes } from '../../../core/text/amounts.ts';
import {
  actionLine,
  checkpointJson,
  checkpointLine,
  namedCheckpoint,
  nothing,
  withCheckpoints,
} from './with-checkpoints.ts';

const USAGE = 'assay checkpoint show [FLAGS] STEP|KEY [NUMBER]';

/** How many files are listed; --json lists all. */
const MOST_FILES = 50;

export const checkpointShowCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: USAGE,
    text: 'Shows the newest checkpoint of an action that can be restored, or the one with this number, and lists its files.',
    flags: REMOTE_FLAGS,
    environment: REMOTE_ENVIRONMENT,
    exitCodes: { '0': 'shown', '2': 'there is no such checkpoint' },
    examples: ['assay checkpoint show train', 'assay checkpoint show 1f2e3d 7'],
  },
  async main(args) {
    const parsed = parseFlags(args, REMOTE_FLAGS);
    const { wanted, number } = namedCheckpoint(parsed, USAGE);
    return withCheckpoints(parsed, { wanted }, async ({ found }) => {
      const one = found.find((other) =>
        number === undefined ? other.fault === undefined : other.number === number,
      );
      if (!one)
        throw nothing(`no such checkpoint of ${wanted} is stored; \`assay checkpoint list\` lists all`);
      const { files } = one;
      const more = files.length > MOST_FILES ? [`  … and ${files.length - MOST_FILES} more`] : [];
      const listed = files.slice(0, MOST_FILES).map(({ path, size }) => `  ${path} (${bytes(size)})`);
      const lines = [actionLine(one), checkpointLine(one), ...listed, ...more];
      new SyncStream(1).write(
        parsed.given('json')
          ? `${JSON.stringify({ ...checkpointJson(one), list: files })}\n`
          : `${lines.map(inOneLine).join('\n')}\n`,
      );
      return 0;
    });
  },
};
