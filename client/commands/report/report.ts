// `assay report --markdown`: a run as a comment for a pull request. It prints; a CI job posts it with its own token.
import { type CommandModule, type FlagTable, parseFlags, usage } from '../../../core/cli/command.ts';
import { currentFolder } from '../../files/current-folder.ts';
import { storeFolder } from '../../local-store/store-folder.ts';
import { remoteToken } from '../../remote/token.ts';
import { SyncStream } from '../../terminal/sync-stream.ts';
import { markdownOf } from '../../view/markdown.ts';
import { STORE_FLAGS } from '../store-flags.ts';

const FLAGS = {
  store: STORE_FLAGS.store,
  markdown: { type: 'boolean', text: 'as Markdown; the only form so far' },
  remote: { type: 'string', value: 'URL', text: 'with RUN: the server (default: ASSAY_REMOTE)' },
} satisfies FlagTable;

export const reportCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: 'assay report [FLAGS] --markdown [RUN]',
    text: [
      'Prints the last run in this folder as Markdown, for a comment on a pull request: what failed, what ran and',
      'why, and what the hits saved. It is the table of `assay run --summary FILE.md`. With RUN it prints a run',
      'that was reported to the server of --remote: RUN is the last part of the address that the run printed.',
    ].join('\n'),
    flags: FLAGS,
    environment: {
      ASSAY_STORE: 'the local store’s folder',
      ASSAY_REMOTE: 'with RUN: the server',
      ASSAY_TOKEN: 'sent to the server as a Bearer token',
    },
    exitCodes: {
      '0': 'printed, also of a run that failed',
      '2': 'no such run, or the server gave no answer',
    },
    examples: [
      'assay report --markdown > comment.md',
      'assay report --markdown 5f0c1e2a9b7d4c3f8e6a0d1b2c3f4e5a',
    ],
  },
  async main(args) {
    const parsed = parseFlags(args, FLAGS);
    const [id, ...more] = parsed.positionals;
    if (more.length > 0) throw usage('assay report takes one run');
    if (!parsed.given('markdown')) throw usage('assay report prints Markdown: give --markdown');
    if (id === undefined && parsed.given('remote')) throw usage('--remote goes with the id of a run');
    const { lastRunIn, reportedRun } = await import('./run-summary.ts');
    const remote = parsed.text('remote') ?? process.env.ASSAY_REMOTE;
    if (id !== undefined && !remote) throw usage('RUN asks a server: name it with --remote or ASSAY_REMOTE');
    const page =
      id !== undefined && remote
        ? await reportedRun(id, { remote, token: remoteToken() })
        : lastRunIn(currentFolder(), storeFolder(parsed.text('store'), process.env));
    new SyncStream(1).write(markdownOf(page));
    return 0;
  },
};
