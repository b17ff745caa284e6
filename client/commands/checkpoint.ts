// `assay checkpoint`: asks the `assay run` around it to seal the step's checkpoint folders, and waits until that is done.
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { type CommandModule, type FlagTable, parseFlags, usage } from '../../core/cli/command.ts';
import { CHECKPOINT } from '../limits.ts';
import { ANSWER, REQUEST } from '../snapshots/checkpoint/request-folder.ts';
import { SyncStream } from '../terminal/sync-stream.ts';

const flags = {} satisfies FlagTable;

export const checkpointCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: 'assay checkpoint',
    text: [
      'For the command of `assay run --checkpoint DIR`, or of a step with "checkpoint" folders: seals them as they are now',
      'and says the number of the checkpoint. The next run of the same action starts from it if this one does not finish.',
      'Elsewhere, or where it can’t be sealed, it says nothing, and does no harm.',
      '',
      'A program can ask by itself: make a file NAME.request in the folder that ASSAY_CHECKPOINT_DESK names, and wait until',
      'it is gone. ASSAY_CHECKPOINT holds the number of the checkpoint that the command started from, or 0.',
    ].join('\n'),
    flags,
    environment: {
      ASSAY_CHECKPOINT: 'the number of the checkpoint that the command started from; 0: from the beginning',
      ASSAY_CHECKPOINT_DESK: 'where the command asks for a checkpoint',
    },
    exitCodes: { '0': 'sealed, or not', '2': 'Assay refused its arguments' },
    examples: ['assay checkpoint'],
  },
  async main(args) {
    if (parseFlags(args, flags).positionals.length > 0) throw usage('assay checkpoint takes no arguments');
    const folder = process.env.ASSAY_CHECKPOINT_DESK;
    if (!folder || !existsSync(folder)) {
      new SyncStream(2).write('assay: no checkpoint: this is not the command of `assay run --checkpoint`\n');
      return 0;
    }
    const number = await ask(join(folder, randomUUID()));
    if (number !== '') new SyncStream(1).write(`${number}\n`);
    return 0;
  },
};

async function ask(place: string): Promise<string> {
  writeFileSync(place + REQUEST, '');
  const giveUpAt = Date.now() + CHECKPOINT.waitMs;
  while (existsSync(place + REQUEST) && Date.now() < giveUpAt) await wait(CHECKPOINT.requestPollMs);
  const number = existsSync(place + ANSWER) ? readFileSync(place + ANSWER, 'utf8') : '';
  for (const end of [REQUEST, ANSWER]) rmSync(place + end, { force: true });
  return number;
}
