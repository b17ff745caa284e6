// What `assay checkpoint list`, `show`, `restore` and `drop` share: the stores, which action is meant, and the words.
import { resolveKey } from '../../../client/commands/resolve-step-arg.ts';
import { currentFolder } from '../../../client/files/current-folder.ts';
import { storeFolder } from '../../../client/local-store/store-folder.ts';
import type { Cache } from '../../../client/run/caches.ts';
import { durationText } from '../../../client/run/reporter.ts';
import { type ParsedFlags, parseNumber, usage } from '../../../core/cli/command.ts';
import { type Hash, isHash } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { bytes, counted } from '../../../core/text/amounts.ts';
import { actionsIn, checkpointsIn, type StoredCheckpoint } from '../checkpoint/catalogue.ts';
import { CHECKPOINT_NAMESPACE } from '../checkpoint/checkpoints.ts';
import { openSnapshotStore } from '../open.ts';
import type { OnRefused, SnapshotStore } from '../snapshot-store.ts';
import { withCache } from './with-cache.ts';

interface OpenCheckpoints {
  readonly snapshots: SnapshotStore;
  /** Those of the action that was named; of all actions in the local store if none was. Newest first. */
  readonly found: readonly StoredCheckpoint[];
}

interface CheckpointsOptions {
  /** The step or the key that the command line names. */
  readonly wanted: string | undefined;
  /** Snapshots are restored below it. */
  readonly root?: string;
  readonly onRefused?: OnRefused;
  /** The remote is not asked. */
  readonly onlyLocal?: boolean;
}

/** Opens the stores for `work`, and closes them. */
export async function withCheckpoints<T>(
  parsed: ParsedFlags,
  { wanted, root = currentFolder(), onRefused, onlyLocal }: CheckpointsOptions,
  work: (checkpoints: OpenCheckpoints) => Promise<T>,
): Promise<T> {
  const withSnapshots = async (cache: Cache) => {
    const settings = { namespace: CHECKPOINT_NAMESPACE, ...(onRefused && { onRefused }) };
    const snapshots = await openSnapshotStore(settings, cache);
    if (!snapshots) throw nothing('the local store can’t be used');
    const folder = storeFolder(parsed.text('store'), process.env);
    const key = wanted === undefined ? undefined : await keyOf(wanted, folder, snapshots);
    return work({ snapshots, found: await checkpointsIn(snapshots, key) });
  };
  return withCache(parsed, root, withSnapshots, onlyLocal);
}

/** A run that was killed left no entry in the history, but its checkpoints name its step. */
async function keyOf(wanted: string, folder: string, snapshots: SnapshotStore): Promise<Hash> {
  if (isHash(wanted)) return wanted;
  const keys = new Set<Hash>();
  for await (const { key, step } of actionsIn(snapshots)) if (isNamed(wanted, key, step)) keys.add(key);
  const [newest] = keys;
  if (newest !== undefined && (keys.size === 1 || !newest.startsWith(wanted))) return newest;
  if (keys.size > 1) throw nothing(`${wanted} is the beginning of ${keys.size} keys: give more of it`);
  return resolveKey(wanted, folder);
}

function isNamed(wanted: string, key: Hash, step: string | undefined): boolean {
  const isPrefix = /^[0-9a-f]{4,64}$/.test(wanted) && key.startsWith(wanted);
  return isPrefix || (step !== undefined && step === wanted.replace(/^\/\/#/, ''));
}

export function nothing(detail: string): AssayError {
  return new AssayError('ASSAY_NO_HISTORY', detail);
}

/** STEP|KEY and a number, from the command line. */
export function namedCheckpoint(
  { positionals }: ParsedFlags,
  form: string,
): { readonly wanted: string; readonly number: number | undefined } {
  const [wanted, number, ...more] = positionals;
  if (wanted === undefined || more.length > 0) throw usage(`name a step or a key: ${form}`);
  return {
    wanted,
    number: number === undefined ? undefined : parseNumber('NUMBER', number, 1, 999_999_999),
  };
}

/** What --json prints of a checkpoint. */
export function checkpointJson(one: StoredCheckpoint): object {
  const { takenAt, files, fault, madeInMs, label: _, ...rest } = one;
  return {
    ...rest,
    files: files.length,
    ...(takenAt !== undefined && { takenAt: new Date(takenAt).toISOString() }),
    madeInMs: Math.round(madeInMs),
    valid: fault === undefined,
    ...(fault !== undefined && { fault }),
  };
}

/** One line: number, where, when, size, who, and what is wrong with it. */
export function checkpointLine(one: StoredCheckpoint): string {
  const { number, from, takenAt, files, bytes: size, owner, fence, fault, madeInMs } = one;
  const parts = [
    `checkpoint ${number}`,
    from,
    ...(takenAt === undefined ? [] : [new Date(takenAt).toISOString()]),
    `${counted(files.length, 'file')}, ${bytes(size)}`,
    ...(madeInMs > 0 ? [`after ${durationText(madeInMs)}`] : []),
    ...(owner === undefined ? [] : [`by ${owner}`]),
    ...(fence ? [`fence ${fence.epoch}.${fence.number}`] : []),
    fault === undefined ? 'valid' : `NOT VALID: ${fault}`,
  ];
  return parts.join('  ');
}

/** The line above the checkpoints of one action. */
export function actionLine({ key, step }: Pick<StoredCheckpoint, 'key' | 'step'>): string {
  return `${key.slice(0, 12)}  ${step ?? 'a step without a name'}`;
}
