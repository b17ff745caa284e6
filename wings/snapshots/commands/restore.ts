// `assay restore`: restores what `assay save` stored, by its key or by the newest key with a prefix.
import { REMOTE_ENVIRONMENT } from '../../../client/commands/store-flags.ts';
import { inOneLine, SyncStream } from '../../../client/terminal/sync-stream.ts';
import { type CommandModule, type FlagTable, parseFlags } from '../../../core/cli/command.ts';
import { messageOf } from '../../../core/errors.ts';
import type { Restored, SnapshotStore } from '../snapshot-store.ts';
import { SNAPSHOT_FLAGS, snapshotArguments, withSnapshots } from './snapshot-flags.ts';

const flags = {
  fallback: {
    type: 'string',
    multiple: true,
    value: 'PREFIX',
    text: 'if KEY does not exist, take the newest key with this prefix; several are tried in order',
  },
  'exit-code': { type: 'boolean', text: 'report by the exit code what was found' },
  ...SNAPSHOT_FLAGS,
} satisfies FlagTable;

const USAGE = 'assay restore [FLAGS] KEY PATH…';
const EXIT_CODES = { exact: 0, fallback: 3, nothing: 4 } as const;

export const restoreCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: USAGE,
    text: [
      'Restores what `assay save` stored under KEY from the same PATH…. Correct files stay, wrong ones are',
      'replaced, and anything else in those folders is removed. Nothing is written outside PATH…, whatever a',
      'snapshot contains. Assay asks the local store, then the remote. A missing KEY is not a failure.',
    ].join('\n'),
    flags,
    environment: REMOTE_ENVIRONMENT,
    exitCodes: {
      '0': 'always, unless refused; with --exit-code: KEY was found',
      '2': 'Assay refused its arguments',
      '3': 'with --exit-code: another key was found by --fallback',
      '4': 'with --exit-code: nothing was found',
    },
    examples: [
      'assay restore --exit-code "npm-$(sha256sum package-lock.json | cut -c1-16)" --fallback npm- node_modules || npm ci',
      'assay restore "m2-$(sha256sum pom.xml | cut -c1-16)" --fallback m2- --in ~ .m2/repository',
    ],
  },
  async main(args) {
    const parsed = parseFlags(args, flags);
    const named = snapshotArguments(parsed, USAGE);
    const { label } = named;
    return withSnapshots(parsed, named, async ({ root, snapshots }) => {
      const found = snapshots && (await restoreQuietly(snapshots, root, label, parsed.all('fallback')));
      const outcome = found ? (found.label === label ? 'exact' : 'fallback') : 'nothing';
      const report = {
        key: label,
        outcome,
        ...(found && { found: found.label, from: found.from, written: found.written }),
      };
      new SyncStream(1).write(
        parsed.given('json')
          ? `${JSON.stringify(report)}\n`
          : `assay: ${inOneLine(sentence(label, found))}\n`,
      );
      return parsed.given('exit-code') ? EXIT_CODES[outcome] : 0;
    });
  },
};

/** A store that fails counts as empty. */
async function restoreQuietly(
  snapshots: SnapshotStore,
  root: string,
  label: string,
  prefixes: readonly string[],
): Promise<Restored | undefined> {
  try {
    return await snapshots.restore(root, label, prefixes);
  } catch (error) {
    new SyncStream(2).write(`assay: ${messageOf(error)}\n`);
    return undefined;
  }
}

function sentence(label: string, found: Restored | undefined): string {
  if (!found) return `nothing is stored under ${label} for these paths`;
  const written = found.written === 0 ? 'all up to date' : `${found.written} restored`;
  return `restored ${found.label} (${found.from}), ${written}`;
}
