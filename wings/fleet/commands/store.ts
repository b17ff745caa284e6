// `assay store migrate` copies a store between a folder and a fleet. `assay store verify` reads everything in a fleet.
// Both may be killed at any moment and repeated.
import { resolve } from 'node:path';
import {
  type CommandModule,
  type FlagTable,
  type ParsedFlags,
  parseFlags,
  parseNumber,
  usage,
} from '../../../core/cli/command.ts';
import { Telling } from '../../../core/cli/progress.ts';
import { bytes, counted } from '../../../core/text/amounts.ts';
import { becomeNode } from '../../../server/commands/become-node.ts';
import { refuseIfNoStore } from '../../../store/disk/fs/layout.ts';
import type { StoreEvent } from '../../../store/events.ts';
import { type Copied, type CopyProgress, copyStore } from '../../../store/migration/copy.ts';
import { openDiskStore } from '../../../store/open.ts';
import { ScrubJournal } from '../../../store/scrub/journal.ts';
import { newProgress, type ScrubProgress, scrub, shareDone } from '../../../store/scrub/scrub.ts';
import { Throttle } from '../../../store/scrub/throttle.ts';
import { loadChecksum } from '../../../store/shared/checksum.ts';
import type { Engine } from '../../../store/store.ts';
import type { FleetStore } from '../open-fleet.ts';

const FLEET = 'fleet';
const MIB = 1024 * 1024;
const INCOMPLETE = 1;
const DAMAGED = 3;

const FLEET_FLAGS = {
  index: {
    type: 'string',
    value: 'URL',
    text: 'the PostgreSQL of the fleet, postgres://USER:PASSWORD@HOST:PORT/DB; better in ASSAY_INDEX',
  },
  blobs: { type: 'string', value: 'URL', text: 'the bucket of the fleet, s3://BUCKET/PREFIX' },
  json: {
    type: 'boolean',
    text: 'print one JSON object on standard output, and progress as one JSON object per line on standard error',
  },
} as const satisfies FlagTable;

const MIGRATE_FLAGS = {
  from: {
    type: 'string',
    value: 'STORE',
    text: 'what is copied, a folder or the word fleet; it is not changed',
  },
  to: { type: 'string', value: 'STORE', text: 'where it is copied to, the word fleet or a folder' },
  ...FLEET_FLAGS,
} as const satisfies FlagTable;

const VERIFY_FLAGS = {
  rate: { type: 'string', value: 'MIB', text: 'read at most this many MiB per second (default: no limit)' },
  progress: {
    type: 'string',
    value: 'DIR',
    text: 'keep the progress in this folder; a verify that was interrupted continues there',
  },
  ...FLEET_FLAGS,
} as const satisfies FlagTable;

const ENVIRONMENT = {
  ASSAY_INDEX: 'the same as --index',
  ASSAY_BLOBS: 'the same as --blobs',
  AWS_ACCESS_KEY_ID: 'the access key of the bucket, with the other AWS_… variables of `assay serve`',
};

export const migrateCommand: CommandModule = {
  help: {
    usage: 'assay store migrate --from STORE --to STORE [FLAGS]',
    text: [
      'Copies blobs, results, labels and the history between the store in a folder and a fleet, in either direction. Every byte is checked.',
      'Nothing in the target is replaced. Servers may use both meanwhile. If it is interrupted, repeat it: it finds in the target what was copied.',
      'Stop the writers of the source before the last run, so that nothing is left behind. Unfinished uploads and the order of use are not copied.',
    ].join('\n'),
    flags: MIGRATE_FLAGS,
    environment: ENVIRONMENT,
    exitCodes: {
      '0': 'everything is in the target',
      '1': 'the source was written meanwhile, or some of it could not be read',
      '2': 'failed; the error says why',
    },
    examples: [
      'assay store migrate --from /var/lib/assay --to fleet',
      'assay store migrate --from fleet --to /var/lib/assay',
    ],
  },
  failureCode: 2,
  async main(args) {
    becomeNode(['store', 'migrate', ...args]);
    return migrate(parsedAlone(args, MIGRATE_FLAGS));
  },
};

export const verifyFleetCommand: CommandModule = {
  help: {
    usage: 'assay store verify [FLAGS]',
    text: [
      'Reads every blob of a fleet and compares it with its SHA-256, and checks that every result has all its blobs. It reads the whole bucket, which may cost money.',
      'A damaged blob is then a miss. An object that the bucket does not have is asked for again a minute later. For a store in a folder, use `assay verify`.',
    ].join('\n'),
    flags: VERIFY_FLAGS,
    environment: ENVIRONMENT,
    exitCodes: {
      '0': 'no damage',
      '3': 'damage was found; the fleet no longer serves it',
      '2': 'failed; the error says why',
    },
    examples: ['assay store verify --rate 200 --progress /var/lib/assay-verify'],
  },
  failureCode: 2,
  async main(args) {
    becomeNode(['store', 'verify', ...args]);
    return verify(parsedAlone(args, VERIFY_FLAGS));
  },
};

function parsedAlone(args: readonly string[], table: FlagTable): ParsedFlags {
  const flags = parseFlags(args, table);
  const [more] = flags.positionals;
  if (more !== undefined) throw usage(`the command takes no argument ${JSON.stringify(more)}`);
  return flags;
}

async function openFleet(flags: ParsedFlags, onEvent: (event: StoreEvent) => void): Promise<FleetStore> {
  const index = flags.text('index') ?? process.env.ASSAY_INDEX;
  const blobs = flags.text('blobs') ?? process.env.ASSAY_BLOBS;
  if (!index || !blobs) throw usage('name the fleet by --index, or ASSAY_INDEX, and --blobs, or ASSAY_BLOBS');
  const { openFleetStore } = await import('../open-fleet.ts');
  return openFleetStore({ index, blobs, environment: process.env, onEvent });
}

interface Side {
  readonly engine: Engine;
  readonly trim?: () => Promise<void>;
  close(): Promise<void>;
}

async function migrate(flags: ParsedFlags): Promise<number> {
  const [from, to] = [flags.text('from'), flags.text('to')];
  if (!from || !to || (from === FLEET) === (to === FLEET))
    throw usage('give --from DIR --to fleet, or --from fleet --to DIR');
  if (from !== FLEET) refuseIfNoStore(resolve(from));
  await loadChecksum();
  const source = await openSide(from, flags);
  try {
    const target = await openSide(to, flags);
    try {
      const output = new Telling(flags.given('json'));
      const copied = await copyStore({
        from: source.engine,
        to: target.engine,
        onProgress: (progress) => output.progress(progress, () => copyText(progress)),
        onPage: source.trim,
      });
      output.report(copied, copyReport(copied));
      return copied.isComplete && copied.unreadable === 0 ? 0 : INCOMPLETE;
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

async function openSide(name: string, flags: ParsedFlags): Promise<Side> {
  return name === FLEET ? openFleet(flags, () => {}) : openDiskStore({ directory: resolve(name) });
}

async function verify(flags: ParsedFlags): Promise<number> {
  const rate = flags.text('rate');
  const folder = flags.text('progress');
  let lost = 0;
  const store = await openFleet(flags, ({ type }) => {
    if (type === 'lost') lost++;
  });
  try {
    const journal = folder === undefined ? undefined : new ScrubJournal(resolve(folder), Date.now);
    const earlier = journal?.read();
    const output = new Telling(flags.given('json'));
    const scrubbed = await scrub(
      earlier && earlier.finishedAt === undefined ? earlier : newProgress(Date.now()),
      {
        inspection: await store.engine.inspect(),
        throttle:
          rate === undefined ? undefined : new Throttle(MIB * parseNumber('--rate', rate, 1, 1_000_000)),
        now: Date.now,
        onProgress(progress) {
          journal?.write(progress);
          const { blobs, bytes: read, damaged } = progress;
          output.progress({ share: shareDone(progress), blobs, bytes: read, damaged }, () =>
            scrubText(progress),
          );
        },
      },
    );
    if (!scrubbed) return DAMAGED;
    if (scrubbed.damaged > 0) await store.engine.lostSettled();
    output.report({ ...scrubbed, lost }, scrubReport(scrubbed, lost));
    return scrubbed.damaged === 0 ? 0 : DAMAGED;
  } finally {
    await store.close();
  }
}

function copyText({ pass, doing, share, seen, copied }: CopyProgress): string {
  const done = doing === 'blobs' ? `${Math.floor(100 * share)} % of the blobs` : doing;
  return `pass ${pass}, ${done}: ${counted(seen.blobs, 'blob')} and ${counted(seen.results, 'result')} seen; copied ${counted(copied.blobs, 'blob')}, ${bytes(copied.bytes)}, ${counted(copied.results, 'result')}`;
}

function copyReport({ isComplete, seen, copied, unreadable, incomplete, kept }: Copied): string {
  const lines = [
    `The source has ${counted(seen.blobs, 'blob')} (${bytes(seen.bytes)}), ${counted(seen.results, 'result')}, ${counted(seen.labels, 'label')} and ${counted(seen.documents, 'document')} of the history.`,
    `Copied now: ${counted(copied.blobs, 'blob')} (${bytes(copied.bytes)}), ${counted(copied.results, 'result')}, ${counted(copied.labels, 'label')}, ${counted(copied.documents, 'document')}.`,
  ];
  if (unreadable > 0)
    lines.push(`${counted(unreadable, 'blob')} of the source could not be read: damaged, or removed.`);
  if (incomplete > 0)
    lines.push(`${counted(incomplete, 'result')} lack a blob, so they were no hits; they were left out.`);
  if (kept > 0)
    lines.push(`${counted(kept, 'entry', 'entries')} of the target have other content, and stay.`);
  lines.push(
    isComplete
      ? 'The target has everything.'
      : 'The source was written meanwhile. Stop its writers, and repeat the command.',
  );
  return lines.join('\n');
}

function scrubText(progress: ScrubProgress): string {
  const { blobs, bytes: read, damaged } = progress;
  return `verify ${Math.floor(100 * shareDone(progress))} %: ${counted(blobs, 'blob')}, ${bytes(read)}, ${damaged} damaged`;
}

function scrubReport(scrubbed: ScrubProgress, lost: number): string {
  const { blobs, bytes: read, results, damaged, damage, unusableResults } = scrubbed;
  return [
    `${counted(blobs, 'blob')}, ${bytes(read)} and ${counted(results, 'result')} verified`,
    damaged === 0
      ? 'Every blob matches its SHA-256.'
      : `${counted(damaged, 'blob')} damaged or without an object; ${lost} of them lost for good, and out of the index`,
    ...damage.map(({ hash, size }) => `  ${hash} ${bytes(Math.max(0, size))}`),
    unusableResults === 0
      ? 'Every result has all its blobs.'
      : `${counted(unusableResults, 'result')} can not be a hit: a miss until the next run stores it again`,
  ].join('\n');
}
