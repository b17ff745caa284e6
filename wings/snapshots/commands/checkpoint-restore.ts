// `assay checkpoint restore`: restores a checkpoint into a folder of its own, to look at. The workspace stays as it is.
import { existsSync, mkdirSync, readdirSync, realpathSync } from 'node:fs';
import { REMOTE_ENVIRONMENT, REMOTE_FLAGS } from '../../../client/commands/store-flags.ts';
import { inOneLine, SyncStream } from '../../../client/terminal/sync-stream.ts';
import { type CommandModule, type FlagTable, parseFlags, usage } from '../../../core/cli/command.ts';
import type { StoredCheckpoint } from '../checkpoint/catalogue.ts';
import { numberIn } from '../checkpoint/checkpoints.ts';
import {
  checkpointJson,
  checkpointLine,
  namedCheckpoint,
  nothing,
  withCheckpoints,
} from './with-checkpoints.ts';

const flags = {
  into: { type: 'string', value: 'DIR', text: 'an empty folder, or one to make (required)' },
  ...REMOTE_FLAGS,
} satisfies FlagTable;

const USAGE = 'assay checkpoint restore --into DIR [FLAGS] STEP|KEY [NUMBER]';

export const checkpointRestoreCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: USAGE,
    text: [
      'Restores the newest checkpoint of an action that is whole, or the one with this number, into DIR. One that',
      'is damaged is named and skipped. A run restores checkpoints by itself: this is for looking at them.',
    ].join('\n'),
    flags,
    environment: REMOTE_ENVIRONMENT,
    exitCodes: { '0': 'restored', '2': 'there is no such checkpoint, it is damaged, or DIR is not empty' },
    examples: [
      'assay checkpoint restore --into /tmp/look train',
      'assay checkpoint restore --into look 1f2e3d 7',
    ],
  },
  async main(args) {
    const parsed = parseFlags(args, flags);
    const { wanted, number } = namedCheckpoint(parsed, USAGE);
    const root = emptyFolder(parsed.text('into'));
    const onRefused = (label: string, why: string) => say(`checkpoint ${numberIn(label)} is skipped: ${why}`);
    return withCheckpoints(parsed, { wanted, root, onRefused }, async ({ snapshots, found }) => {
      const asked = found.filter((one) => number === undefined || one.number === number);
      for (const one of asked) {
        if (one.fault !== undefined) onRefused(one.label, one.fault);
        else if (await snapshots.restoreFrom(root, one)) return tell(one, root, parsed.given('json'));
      }
      throw nothing(`no such checkpoint of ${wanted} can be restored; \`assay checkpoint list\` lists all`);
    });
  },
};

function tell(one: StoredCheckpoint, root: string, json: boolean): number {
  new SyncStream(1).write(
    json
      ? `${JSON.stringify({ ...checkpointJson(one), into: root })}\n`
      : `assay: restored into ${inOneLine(root)}: ${inOneLine(checkpointLine(one))}\n`,
  );
  return 0;
}

function say(text: string): void {
  new SyncStream(2).write(`assay: ${inOneLine(text)}\n`);
}

/** A restore removes other files from the folders that it writes. So there must be none. */
function emptyFolder(folder: string | undefined): string {
  if (folder === undefined) throw usage(`say where to: ${USAGE}`);
  if (existsSync(folder) && readdirSync(folder).length > 0)
    throw usage(`--into ${folder} is not empty: name another folder`);
  mkdirSync(folder, { recursive: true });
  return realpathSync(folder);
}
