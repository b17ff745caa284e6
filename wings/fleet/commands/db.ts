// `assay db migrate`: creates or updates the tables of a fleet in PostgreSQL. `assay db adopt`: makes its database the
// owner of the objects in the bucket.
import {
  type CommandModule,
  type FlagTable,
  type ParsedFlags,
  parseDuration,
  parseFlags,
  usage,
} from '../../../core/cli/command.ts';
import { counted } from '../../../core/text/amounts.ts';
import { becomeNode } from '../../../server/commands/become-node.ts';
import type { Adoption, Found } from '../engine/ownership/adoption.ts';

const DECLINED = 1;

const FLAGS = {
  index: {
    type: 'string',
    value: 'URL',
    text: 'the PostgreSQL of the fleet, postgres://USER:PASSWORD@HOST:PORT/DB',
  },
  lease: {
    type: 'string',
    value: 'TIME',
    text: 'migrate: how long a blob or result stays after a response named it, for all servers;\nset when the tables are created (default 3h)',
  },
  blobs: { type: 'string', value: 'URL', text: 'adopt: the bucket of the fleet, s3://BUCKET/PREFIX' },
  yes: { type: 'boolean', text: 'adopt: do not ask' },
  'delete-orphans': {
    type: 'boolean',
    text: 'adopt: also delete the objects that no row of this database names; says first how many they are',
  },
} as const satisfies FlagTable;

export const dbCommand: CommandModule = {
  help: {
    usage: 'assay db migrate|adopt [FLAGS]',
    text: [
      'migrate creates the tables of a fleet in PostgreSQL, or updates them to the version of this Assay.',
      'Run it before the first server starts, and before the servers of a new version start. Servers of the version before go on meanwhile.',
      'It changes nothing if the tables are up to date, and may be interrupted and repeated.',
      'adopt makes the database the owner of the objects under the prefix. From then on its servers delete objects there, and those of every other database delete none.',
      'Run it after pg_upgrade, after a restored backup or dump, and wherever an alarm of a server tells you to. It may be interrupted and repeated.',
    ].join('\n'),
    flags: FLAGS,
    environment: {
      ASSAY_INDEX: 'the same as --index',
      ASSAY_BLOBS: 'the same as --blobs',
      AWS_ACCESS_KEY_ID: 'the access key of the bucket, with the other AWS_… variables of `assay serve`',
    },
    exitCodes: {
      '0': 'the tables are up to date; or the database is the owner',
      '1': 'adopt: you have not said yes',
      '2': 'failed; the error says why',
    },
    examples: [
      'ASSAY_INDEX=postgres://assay:…@db.example.com/assay assay db migrate',
      'assay db adopt --yes --delete-orphans',
    ],
  },
  failureCode: 2,
  async main(args) {
    const flags = parseFlags(args, FLAGS);
    const [action, ...rest] = flags.positionals;
    if ((action !== 'migrate' && action !== 'adopt') || rest.length > 0)
      throw usage('say `assay db migrate` or `assay db adopt`');
    const foreign =
      action === 'migrate' ? (['blobs', 'yes', 'delete-orphans'] as const) : (['lease'] as const);
    for (const name of foreign)
      if (flags.given(name))
        throw usage(`--${name} is a flag of \`assay db ${action === 'migrate' ? 'adopt' : 'migrate'}\``);
    const index = flags.text('index') ?? process.env.ASSAY_INDEX;
    if (!index) throw usage('give the PostgreSQL of the fleet by --index or ASSAY_INDEX');
    if (action === 'migrate') return migrateTables(flags, index);
    // The client of S3 runs on Node.
    becomeNode(['db', ...args]);
    return adopt(flags, index);
  },
};

async function migrateTables(flags: ParsedFlags, index: string): Promise<number> {
  const lease = flags.text('lease');
  const { migrate } = await import('../engine/index/schema.ts');
  const { from, to } = await migrate(
    index,
    lease === undefined ? undefined : parseDuration('--lease', lease),
  );
  say(
    from === to
      ? `The tables have version ${to} already.`
      : `The tables have version ${to} now (before: ${from}).`,
  );
  return 0;
}

async function adopt(flags: ParsedFlags, index: string): Promise<number> {
  const blobs = flags.text('blobs') ?? process.env.ASSAY_BLOBS;
  if (!blobs) throw usage('give the bucket of the fleet by --blobs or ASSAY_BLOBS');
  const isSure = flags.given('yes');
  if (!isSure && !process.stdin.isTTY)
    throw usage('`assay db adopt` asks before it does anything: run it in a terminal, or give --yes');
  const { readS3Settings } = await import('../engine/s3/settings.ts');
  const { openS3Objects } = await import('../engine/s3/s3-objects.ts');
  const { Adoption } = await import('../engine/ownership/adoption.ts');
  const objects = await openS3Objects(readS3Settings(blobs, process.env));
  const { adoption, database } = await Adoption.open(index, objects);
  try {
    const agrees = (question: string) => isSure || ask(question);
    if (!(await becomeOwner(adoption, agrees))) return DECLINED;
    return flags.given('delete-orphans') ? await deleteOrphans(adoption, agrees) : 0;
  } finally {
    await database.close();
    await objects.close();
  }
}

type Agrees = (question: string) => boolean | Promise<boolean>;

async function becomeOwner(adoption: Adoption, agrees: Agrees): Promise<boolean> {
  const found = await adoption.find();
  if (found.verdict.kind === 'owner') {
    say('This database is the owner of the objects already.');
    return true;
  }
  for (const line of described(found)) say(line);
  if (!(await agrees('Shall this database own the objects?'))) return false;
  await adoption.adopt(found);
  say('This database owns the objects now. Its servers go on deleting within two minutes.');
  return true;
}

function described({ here, row, object, verdict }: Found): string[] {
  const owner =
    typeof object === 'string'
      ? `The bucket names no owner: the object assay-fleet is ${object}.`
      : `The bucket names an owner: database ${object.database} of fleet ${object.fleet}, after ${counted(object.rounds, 'round')} of its janitor.`;
  return [
    `This is database ${here}, ${row ? `of fleet ${row.fleet}, after ${counted(row.rounds, 'round')}` : 'of no fleet yet'}.`,
    owner,
    ...(verdict.kind === 'stopped' ? [verdict.detail] : []),
    'If another database uses this prefix, it will delete nothing any more. It can still read and write.',
  ];
}

async function deleteOrphans(adoption: Adoption, agrees: Agrees): Promise<number> {
  const { listed, orphans } = await adoption.countOrphans();
  say(
    `${counted(orphans, 'object')} of ${listed} are orphans: at least a day old, and no row of this database names them.`,
  );
  if (orphans === 0) return 0;
  if (!(await agrees('Shall they be deleted, whoever has written them?'))) return DECLINED;
  const condemned = await adoption.condemnOrphans();
  say(
    `${counted(condemned.orphans, 'object')} condemned. The servers of this database delete them in an hour.`,
  );
  return 0;
}

/** Only a whole yes is one. */
async function ask(question: string): Promise<boolean> {
  const { createInterface } = await import('node:readline/promises');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^\s*y(es)?\s*$/i.test(await terminal.question(`${question} [y/N] `));
  } finally {
    terminal.close();
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
