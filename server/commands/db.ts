// `assay db migrate`: creates or updates the tables of a fleet in PostgreSQL.
import {
  type CommandModule,
  type FlagTable,
  parseDuration,
  parseFlags,
  usage,
} from '../../core/cli/command.ts';

const FLAGS = {
  index: {
    type: 'string',
    value: 'URL',
    text: 'the PostgreSQL of the fleet, postgres://USER:PASSWORD@HOST:PORT/DB',
  },
  lease: {
    type: 'string',
    value: 'TIME',
    text: 'how long a blob or result stays after a response named it, for all servers;\nset when the tables are created (default 3h)',
  },
} as const satisfies FlagTable;

export const dbCommand: CommandModule = {
  help: {
    usage: 'assay db migrate [FLAGS]',
    text: [
      'Creates the tables of a fleet in PostgreSQL, or updates them to the version of this Assay.',
      'Run it before the first server starts, and before the servers of a new version start. Servers of the version before go on meanwhile.',
      'It changes nothing if the tables are up to date, and may be interrupted and repeated.',
    ].join('\n'),
    flags: FLAGS,
    environment: { ASSAY_INDEX: 'the same as --index' },
    exitCodes: { '0': 'the tables are up to date', '2': 'not migrated; the error says why' },
    examples: ['ASSAY_INDEX=postgres://assay:…@db.example.com/assay assay db migrate'],
  },
  failureCode: 2,
  async main(args) {
    const flags = parseFlags(args, FLAGS);
    const [action, ...rest] = flags.positionals;
    if (action !== 'migrate' || rest.length > 0) throw usage('say `assay db migrate`');
    const index = flags.text('index') ?? process.env.ASSAY_INDEX;
    if (!index) throw usage('give the PostgreSQL of the fleet by --index or ASSAY_INDEX');
    const lease = flags.text('lease');
    const { migrate } = await import('../../store/fleet/index/schema.ts');
    const { from, to } = await migrate(
      index,
      lease === undefined ? undefined : parseDuration('--lease', lease),
    );
    process.stdout.write(
      from === to
        ? `The tables have version ${to} already.\n`
        : `The tables have version ${to} now (before: ${from}).\n`,
    );
    return 0;
  },
};
