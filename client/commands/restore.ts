// `assay restore`: puts back what `assay save` has kept, from its key or from the newest one that begins as asked.
import { type CommandModule, type FlagTable, parseFlags } from '../../core/cli/command.ts';
import { messageOf } from '../../core/errors.ts';
import type { Restored, SnapshotStore } from '../snapshots/snapshot-store.ts';
import { inOneLine, SyncStream } from '../terminal/sync-stream.ts';
import { SNAPSHOT_ENVIRONMENT, SNAPSHOT_FLAGS, snapshotArguments, withSnapshots } from './snapshot-flags.ts';

const flags = {
  fallback: {
    type: 'string',
    multiple: true,
    value: 'PREFIX',
    text: 'where KEY is not there, the newest key that begins so; the first of several\nthat finds one counts',
  },
  'exit-code': { type: 'boolean', text: 'say by the exit code what was found' },
  ...SNAPSHOT_FLAGS,
} satisfies FlagTable;

const USAGE = 'assay restore [FLAGS] KEY PATH…';
const EXIT_CODES = { exact: 0, fallback: 3, nothing: 4 } as const;

export const restoreCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: USAGE,
    text: [
      'Puts back what `assay save` kept under KEY from the same PATH…, exactly: what is right already is left alone,',
      'what is wrong is replaced, and what else lies in those folders goes. Nothing is written outside of PATH…, whatever',
      'a snapshot holds. Looks in the local store, then at the remote. Nothing found is no failure.',
    ].join('\n'),
    flags,
    environment: SNAPSHOT_ENVIRONMENT,
    exitCodes: {
      '0': 'whatever was found; with --exit-code: what was saved under KEY',
      '2': 'Assay refused its arguments',
      '3': 'with --exit-code: what was saved under another key, found by --fallback',
      '4': 'with --exit-code: nothing',
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
      const told = {
        key: label,
        outcome,
        ...(found && { found: found.label, from: found.from, written: found.written }),
      };
      new SyncStream(1).write(
        parsed.given('json') ? `${JSON.stringify(told)}\n` : `assay: ${inOneLine(sentence(label, found))}\n`,
      );
      return parsed.given('exit-code') ? EXIT_CODES[outcome] : 0;
    });
  },
};

/** A store that breaks while it is read is as good as an empty one. */
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
  if (!found) return `nothing is kept under ${label} for these paths`;
  const written = found.written === 0 ? 'all in place already' : `${found.written} restored`;
  return `restored ${found.label} (${found.from}), ${written}`;
}
