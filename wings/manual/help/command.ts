// `assay help TOPIC`: prints a page of the documentation. bin/assay.ts answers `assay help COMMAND`.
import { SyncStream } from '../../../client/terminal/sync-stream.ts';
import { type CommandModule, type FlagTable, parseFlags, usage } from '../../../core/cli/command.ts';
import { formatColumns } from '../../../core/cli/layout.ts';
import { readPages } from './pages.ts';
import { pageFor, topicsOf } from './topics.ts';

const flags = {} satisfies FlagTable;

const pages = readPages();

const rows = topicsOf(pages).map(({ name, title }) => [name, title] as const);

export const helpCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: 'assay help [COMMAND | TOPIC | CODE]',
    text: [
      'Prints the help of a command, a page of the documentation (Markdown), or what an error code means.',
      'A topic may also be a path that a page names, such as docs/SERVER.md.',
      '',
      'Topics:',
      formatColumns(rows, Number.POSITIVE_INFINITY),
    ].join('\n'),
    flags,
    examples: [
      'assay help run',
      'assay help steps',
      'assay help ASSAY_STORE_FULL',
      'assay help fleet | less',
    ],
  },
  async main(args) {
    const [asked, ...rest] = parseFlags(args, flags).positionals;
    if (asked === undefined || rest.length > 0) throw usage('assay help takes one topic');
    new SyncStream(1).write(pageFor(asked, pages));
    return 0;
  },
};
