// `assay checkpoint`: asks the surrounding `assay run` to save the checkpoint folders, and waits for it.
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { SyncStream } from '../../../client/terminal/sync-stream.ts';
import { type CommandModule, type FlagTable, parseFlags, usage } from '../../../core/cli/command.ts';
import { ANSWER, REQUEST } from '../checkpoint/request-folder.ts';
import { CHECKPOINT } from '../limits.ts';

const flags = {} satisfies FlagTable;

export const checkpointCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: 'assay checkpoint',
    text: [
      'For the command of `assay run --checkpoint DIR`, or of a step with "checkpoint" folders: saves these',
      'folders as they are now, and prints the number of the checkpoint. If this run does not finish, the next',
      'run of the same action resumes from it. In any other command, or if the save fails, it prints no number',
      'and still succeeds.',
      '',
      'A program can ask without this command: create a file NAME.request in the folder ASSAY_CHECKPOINT_DESK,',
      'and wait until it is gone. ASSAY_CHECKPOINT holds the number of the checkpoint that the command started',
      'from, or 0.',
      '',
      '`assay checkpoint list`, `show`, `restore` and `drop` are for people: each has a --help of its own.',
    ].join('\n'),
    flags,
    environment: {
      ASSAY_CHECKPOINT: 'the checkpoint that the command started from; 0: none',
      ASSAY_CHECKPOINT_DESK: 'the folder for requests',
    },
    exitCodes: { '0': 'saved; or not saved, and no number was printed', '2': 'Assay refused its arguments' },
    examples: ['assay checkpoint'],
  },
  async main(args) {
    if (parseFlags(args, flags).positionals.length > 0)
      throw usage('assay checkpoint takes no arguments, but for list, show, restore or drop');
    const folder = process.env.ASSAY_CHECKPOINT_DESK;
    if (!folder || !existsSync(folder)) {
      new SyncStream(2).write('assay: no checkpoint: this is not the command of `assay run --checkpoint`\n');
      return 0;
    }
    const number = await requestCheckpoint(join(folder, randomUUID()));
    if (number !== '') new SyncStream(1).write(`${number}\n`);
    return 0;
  },
};

async function requestCheckpoint(request: string): Promise<string> {
  writeFileSync(request + REQUEST, '');
  const giveUpAt = Date.now() + CHECKPOINT.waitMs;
  while (existsSync(request + REQUEST) && Date.now() < giveUpAt) await wait(CHECKPOINT.requestPollMs);
  const number = existsSync(request + ANSWER) ? readFileSync(request + ANSWER, 'utf8') : '';
  for (const end of [REQUEST, ANSWER]) rmSync(request + end, { force: true });
  return number;
}
