// `assay checkpoint list`: the checkpoints that are stored, and whether they can be restored.
import { REMOTE_ENVIRONMENT, REMOTE_FLAGS } from '../../../client/commands/store-flags.ts';
import { inOneLine, SyncStream } from '../../../client/terminal/sync-stream.ts';
import { type CommandModule, parseFlags, usage } from '../../../core/cli/command.ts';
import type { StoredCheckpoint } from '../checkpoint/catalogue.ts';
import { actionLine, checkpointJson, checkpointLine, withCheckpoints } from './with-checkpoints.ts';

const USAGE = 'assay checkpoint list [FLAGS] [STEP|KEY]';

export const checkpointListCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: USAGE,
    text: [
      'Lists the checkpoints of the local store; with STEP or KEY (a prefix is enough), those of that action,',
      'also at the remote. Each line says when the checkpoint was sealed and where, how large it is, under which',
      'fence if the run held an action lease, and whether it can be restored. All bytes of a local checkpoint are',
      'read for that. Of one at the remote only the list of its files is. An older server names only its newest.',
    ].join('\n'),
    flags: REMOTE_FLAGS,
    environment: REMOTE_ENVIRONMENT,
    exitCodes: { '0': 'listed, also if there is none', '2': 'Assay refused its arguments' },
    examples: ['assay checkpoint list', 'assay checkpoint list --json train | jq .checkpoints'],
  },
  async main(args) {
    const parsed = parseFlags(args, REMOTE_FLAGS);
    const [wanted, ...more] = parsed.positionals;
    if (more.length > 0) throw usage(`name one step or key: ${USAGE}`);
    return withCheckpoints(parsed, { wanted }, async ({ found }) => {
      const out = new SyncStream(1);
      if (parsed.given('json')) out.write(`${JSON.stringify({ checkpoints: found.map(checkpointJson) })}\n`);
      else out.write(text(found));
      return 0;
    });
  },
};

function text(found: readonly StoredCheckpoint[]): string {
  if (found.length === 0) return 'assay: no checkpoint is stored\n';
  const lines = [...Map.groupBy(found, ({ key }) => key).values()].flatMap((of) => {
    const named = of.find(({ step }) => step !== undefined) ?? of[0];
    return [...(named ? [actionLine(named)] : []), ...of.map((one) => `  ${checkpointLine(one)}`)];
  });
  return `${lines.map(inOneLine).join('\n')}\n`;
}
