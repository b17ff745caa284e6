// The arguments of `assay save` and `assay restore`, and the snapshot store that both use. Each set of paths
// is a namespace of keys, as in GitHub's cache. So a restore finds only what was saved from the same paths,
// and writes nowhere else, whatever a snapshot contains.
import { realpathSync, statSync } from 'node:fs';
import { REMOTE_FLAGS } from '../../../client/commands/store-flags.ts';
import { OLD_TIME } from '../../../client/outputs/times.ts';
import type { Cache } from '../../../client/run/caches.ts';
import { type FlagTable, type ParsedFlags, usage } from '../../../core/cli/command.ts';
import { digestOf } from '../../../core/digest.ts';
import { type Namespace, parseNamespace } from '../../../core/namespace.ts';
import { isWithin, type RelPath, relPathFromUser } from '../../../core/path.ts';
import { openSnapshotStore } from '../open.ts';
import type { SnapshotStore } from '../snapshot-store.ts';
import { withCache } from './with-cache.ts';

export const SNAPSHOT_FLAGS = {
  in: { type: 'string', value: 'DIR', text: 'the folder that paths are relative to (default: this one)' },
  ...REMOTE_FLAGS,
} satisfies FlagTable;

interface OpenSnapshots {
  readonly root: string;
  readonly cache: Cache;
  /** Undefined without a usable store. */
  readonly snapshots: SnapshotStore | undefined;
}

/** Opens the caches for `work`, and closes them. */
export async function withSnapshots<T>(
  parsed: ParsedFlags,
  { paths }: SnapshotArguments,
  work: (snapshots: OpenSnapshots) => Promise<T>,
): Promise<T> {
  const root = rootFolder(parsed.text('in') ?? '.');
  return withCache(parsed, root, async (cache) => {
    const fits = (held: readonly RelPath[]) => held.join('\0') === paths.join('\0');
    const settings = { namespace: namespaceOf(paths), fits, time: OLD_TIME };
    return work({ root, cache, snapshots: await openSnapshotStore(settings, cache) });
  });
}

function rootFolder(folder: string): string {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw usage(`--in ${folder} is not a folder`);
  return realpathSync(folder);
}

interface SnapshotArguments {
  readonly label: string;
  /** Sorted, unique, and none inside another. */
  readonly paths: readonly RelPath[];
}

/** The first argument is the key, the others are paths. */
export function snapshotArguments(parsed: ParsedFlags, form: string): SnapshotArguments {
  const [label, ...rest] = parsed.positionals;
  if (!label) throw usage(`the key is missing: ${form}`);
  const paths = outermost(rest.map(relPathFromUser)).sort();
  if (paths.length === 0) throw usage(`the paths are missing: ${form}`);
  return { label, paths };
}

function outermost(paths: readonly RelPath[]): RelPath[] {
  const once = [...new Set(paths)];
  return once.filter((path) => !once.some((other) => other !== path && isWithin(path, other)));
}

function namespaceOf(paths: readonly RelPath[]): Namespace {
  const { hash } = digestOf(Buffer.from(paths.join('\0')));
  return parseNamespace(`saved/${hash.slice(0, 32)}`);
}
