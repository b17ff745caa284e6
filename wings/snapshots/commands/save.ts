// `assay save`: stores the content of some paths under a key. An existing key is never overwritten.
import { REMOTE_ENVIRONMENT } from '../../../client/commands/store-flags.ts';
import { SyncStream } from '../../../client/terminal/sync-stream.ts';
import { bytesText, counted } from '../../../client/view/words.ts';
import { type CommandModule, type FlagTable, parseFlags } from '../../../core/cli/command.ts';
import { AssayError, messageOf } from '../../../core/errors.ts';
import { type Snapshot, takeSnapshot } from '../snapshot.ts';
import type { SnapshotStore } from '../snapshot-store.ts';
import { SNAPSHOT_FLAGS, snapshotArguments, withSnapshots } from './snapshot-flags.ts';

const flags = SNAPSHOT_FLAGS satisfies FlagTable;

const USAGE = 'assay save [FLAGS] KEY PATH…';

interface Kept {
  readonly outcome: 'saved' | 'taken' | 'failed';
  readonly shared: boolean;
  readonly why?: string;
}

export const saveCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: USAGE,
    text: [
      'Stores the files and folders at PATH… under KEY: node_modules, ~/.m2, a compiler’s cache. Blobs that are',
      'already in the store or at the remote are not stored or uploaded again.',
      '',
      'The paths are part of the key: `assay restore` must name the same ones. An existing KEY is never',
      'overwritten, so put into it what the files depend on. A failing store or remote does not fail the build.',
    ].join('\n'),
    flags,
    environment: REMOTE_ENVIRONMENT,
    exitCodes: {
      '0': 'saved, or KEY existed already, or the cache failed',
      '2': 'a PATH does not exist, or cannot be stored',
    },
    examples: [
      'assay save "npm-$(sha256sum package-lock.json | cut -c1-16)" node_modules',
      'assay save "m2-$(sha256sum pom.xml | cut -c1-16)" --in ~ .m2/repository',
    ],
  },
  async main(args) {
    const parsed = parseFlags(args, flags);
    const named = snapshotArguments(parsed, USAGE);
    const { label } = named;
    return withSnapshots(parsed, named, async ({ root, cache, snapshots }) => {
      const snapshot = takeSnapshot(root, named.paths, cache.digests, Date.now());
      const kept = await keep(label, snapshot, snapshots);
      const bytes = snapshot.contents.reduce((sum, { digest }) => sum + digest.size, 0);
      const report = { key: label, ...kept, blobs: snapshot.contents.length, bytes };
      new SyncStream(1).write(
        parsed.given('json') ? `${JSON.stringify(report)}\n` : `assay: ${sentence(report)}\n`,
      );
      return 0;
    });
  },
};

async function keep(label: string, snapshot: Snapshot, snapshots: SnapshotStore | undefined): Promise<Kept> {
  if (!snapshots) return { outcome: 'failed', shared: false, why: 'no usable store' };
  try {
    const outcome = await snapshots.save(label, snapshot);
    const shared = outcome === 'saved' ? snapshots.share(label, snapshot) : snapshots.shareStored(label);
    return { outcome, shared: await shared };
  } catch (error) {
    if (error instanceof AssayError && error.code === 'ASSAY_BAD_LABEL') throw error;
    return { outcome: 'failed', shared: false, why: messageOf(error) };
  }
}

function sentence({
  key,
  outcome,
  shared,
  why,
  blobs,
  bytes,
}: Kept & { key: string; blobs: number; bytes: number }) {
  const size = `${counted(blobs, 'file')}, ${bytesText(bytes)}`;
  if (outcome === 'saved') return `saved ${key}: ${size} (${shared ? 'local, remote' : 'local'})`;
  return outcome === 'taken'
    ? `${key} exists already and is not overwritten`
    : `could not save ${key}: ${why}`;
}
