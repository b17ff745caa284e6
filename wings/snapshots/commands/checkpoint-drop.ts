// `assay checkpoint drop`: drops checkpoints from the local store, by number and by age. A remote evicts its own.
import { STORE_FLAGS } from '../../../client/commands/store-flags.ts';
import { inOneLine, SyncStream } from '../../../client/terminal/sync-stream.ts';
import {
  type CommandModule,
  type FlagTable,
  type ParsedFlags,
  parseDuration,
  parseFlags,
  parseNumber,
  usage,
} from '../../../core/cli/command.ts';
import { bytes, counted } from '../../../core/text/amounts.ts';
import type { StoredCheckpoint } from '../checkpoint/catalogue.ts';
import { checkpointJson, withCheckpoints } from './with-checkpoints.ts';

const flags = {
  keep: { type: 'string', value: 'N', text: 'keep the newest N of each action that can be restored' },
  'older-than': { type: 'string', value: 'AGE', text: 'drop only those that are older: 90m, 12h, 7d' },
  all: { type: 'boolean', text: 'drop those of all actions, without any condition' },
  ...STORE_FLAGS,
} satisfies FlagTable;

const USAGE = 'assay checkpoint drop [FLAGS] [STEP|KEY [NUMBER]]';

export const checkpointDropCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: USAGE,
    text: [
      'Drops checkpoints from the local store: all of an action, the one with this number, or with --keep and',
      '--older-than those that both conditions name, of one action or of all. Their space is free after the next',
      'eviction. A run of the action then starts from what is left, or from the beginning.',
    ].join('\n'),
    flags,
    environment: { ASSAY_STORE: 'the local store’s folder' },
    exitCodes: { '0': 'dropped, also if there was none', '2': 'Assay refused its arguments' },
    examples: [
      'assay checkpoint drop --keep 1 --older-than 7d',
      'assay checkpoint drop train',
      'assay checkpoint drop 1f2e3d 7',
    ],
  },
  async main(args) {
    const parsed = parseFlags(args, flags);
    const [wanted, number, ...more] = parsed.positionals;
    const condition = conditionOf(parsed);
    if (more.length > 0) throw usage(`name one step or key: ${USAGE}`);
    if (wanted === undefined && !condition && !parsed.given('all'))
      throw usage('say which: a step or a key, --keep N, --older-than AGE, or --all');
    const only = number === undefined ? undefined : parseNumber('NUMBER', number, 1, 999_999_999);
    return withCheckpoints(parsed, { wanted, onlyLocal: true }, async ({ snapshots, found }) => {
      const named = found.filter((one) => only === undefined || one.number === only);
      const dropped = condition ? condition(named, Date.now()) : named;
      for (const { label } of dropped) await snapshots.drop(label, true);
      const size = dropped.reduce((sum, one) => sum + one.bytes, 0);
      new SyncStream(1).write(
        parsed.given('json')
          ? `${JSON.stringify({ dropped: dropped.map(checkpointJson), bytes: size })}\n`
          : `assay: ${inOneLine(`dropped ${counted(dropped.length, 'checkpoint')}, ${bytes(size)}`)}\n`,
      );
      return 0;
    });
  },
};

type Condition = (found: readonly StoredCheckpoint[], now: number) => readonly StoredCheckpoint[];

/** Undefined if no condition was given. */
function conditionOf(parsed: ParsedFlags): Condition | undefined {
  const keep = parsed.text('keep');
  const age = parsed.text('older-than');
  if (keep === undefined && age === undefined) return undefined;
  const kept = keep === undefined ? 0 : parseNumber('--keep', keep, 0, 1000);
  const ageMs = age === undefined ? 0 : parseDuration('--older-than', age);
  return (found, now) => {
    const newest = [...Map.groupBy(found, ({ key }) => key).values()].flatMap((of) =>
      of.filter(({ fault }) => fault === undefined).slice(0, kept),
    );
    return found.filter((one) => !newest.includes(one) && now - (one.takenAt ?? 0) >= ageMs);
  };
}
