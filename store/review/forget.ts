// Forgets results: counts those that a selection means, and removes them.
// Guarantees:
// - A result that is counted as removed is served by no process when this resolves.
// - A result that was written after the work began stays, so that a rebuild can begin at once. Another result
//   is removed only if it is still the one that was seen.
// - It can be stopped anywhere and run again: each removal stands for itself.
// The rival of a result is a result, too, with its own writer. Labels whose result is gone are removed at the end, also
// those of an earlier run that was stopped.
import { concurrently } from '../../core/concurrently.ts';
import { DEFAULT_NAMESPACE, isNamespaceAtOrBelow, type Namespace } from '../../core/namespace.ts';
import { STORE } from '../limits.ts';
import type { Review, ReviewedResult } from '../store.ts';
import { type Selection, selector } from './selection.ts';

export interface ForgetOptions {
  readonly selection: Selection;
  /** False: only count. */
  readonly remove: boolean;
  /** Others are left alone, whatever the selection says. */
  readonly isAllowed?: (namespace: Namespace) => boolean;
  /** How many keys the report lists. */
  readonly listed: number;
  readonly now?: () => number;
  /** Called at the beginning and now and then, always with the same object. */
  readonly onProgress?: (progress: ForgetProgress) => void;
  readonly signal?: AbortSignal | undefined;
}

export interface ForgetProgress {
  readonly examined: number;
  /** Results and rivals that the selection means. */
  readonly matched: number;
  readonly removed: number;
}

export interface Group {
  readonly name: string;
  readonly results: number;
}

export interface ForgetReport extends ForgetProgress {
  readonly dryRun: boolean;
  /** How many of `matched` are rivals: second results, which clients do not get. */
  readonly rivals: number;
  /** Labels that were removed because their result is gone. */
  readonly labels: number;
  /** Others wrote them again, or removed them, at the same time. */
  readonly changed: number;
  /** The largest first. Results without a recorded writer have the name "". */
  readonly namespaces: readonly Group[];
  readonly writers: readonly Group[];
  readonly protocols: readonly Group[];
  readonly keys: readonly ForgottenKey[];
}

export interface ForgottenKey {
  readonly namespace: string;
  readonly key: string;
  readonly isRival: boolean;
  readonly writer: string;
  readonly at: string | undefined;
}

export async function forget(review: Review, options: ForgetOptions): Promise<ForgetReport> {
  const { selection, remove, isAllowed = () => true, listed, now = Date.now, onProgress, signal } = options;
  const began = now();
  /** A time in the future is that of a wrong clock. */
  const isNewer = ({ result: { writer } }: ReviewedResult) =>
    writer !== undefined && writer.at > began && writer.at <= now();
  const count = { examined: 0, matched: 0, removed: 0, labels: 0, rivals: 0, changed: 0 };
  const groups = { namespaces: new Groups(), writers: new Groups(), protocols: new Groups() };
  const keys: ForgottenKey[] = [];

  function note(seen: ReviewedResult): void {
    const { address, result, isRival } = seen;
    groups.namespaces.add(address.namespace);
    groups.writers.add(result.writer?.name ?? '');
    groups.protocols.add(result.writer?.via ?? '');
    if (isRival) count.rivals++;
    if (keys.length < listed) keys.push(keyOf(seen));
  }

  async function removeAll(batch: readonly ReviewedResult[]): Promise<void> {
    await concurrently(batch, STORE.forgetBatch, async (seen) => {
      if (!(await review.remove(seen))) count.changed++;
      else {
        count.removed++;
        note(seen);
      }
    });
    onProgress?.(count);
  }

  async function removeDeadLabels(): Promise<void> {
    const { namespace: within = DEFAULT_NAMESPACE } = selection;
    for await (const label of review.labels()) {
      signal?.throwIfAborted();
      if (!isAllowed(label.namespace) || !isNamespaceAtOrBelow(label.namespace, within)) continue;
      if (await review.removeDeadLabel(label)) count.labels++;
    }
  }

  onProgress?.(count);
  const isSelected = await selector(selection, review);
  let batch: ReviewedResult[] = [];
  for await (const seen of review.results()) {
    signal?.throwIfAborted();
    /** Not counted either: the number would tell one tenant how much the others have. */
    if (!isAllowed(seen.address.namespace)) continue;
    count.examined++;
    if (count.examined % STORE.forgetProgress === 0) onProgress?.(count);
    if (!isSelected(seen) || isNewer(seen)) continue;
    count.matched++;
    if (!remove) note(seen);
    else if (batch.push(seen) >= STORE.forgetBatch) {
      await removeAll(batch);
      batch = [];
    }
  }
  await removeAll(batch);
  if (remove) await removeDeadLabels();
  return {
    dryRun: !remove,
    ...count,
    namespaces: groups.namespaces.largest(),
    writers: groups.writers.largest(),
    protocols: groups.protocols.largest(),
    keys,
  };
}

function keyOf({ address: { namespace, key }, result: { writer }, isRival }: ReviewedResult): ForgottenKey {
  const at = writer && new Date(writer.at).toISOString();
  return { namespace, key, isRival, writer: writer?.name ?? '', at };
}

/** Counts by name. A store may have more namespaces than anybody reads: the report has the largest ones. */
class Groups {
  readonly #counts = new Map<string, number>();

  add(name: string): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  largest(): Group[] {
    return [...this.#counts]
      .map(([name, results]) => ({ name, results }))
      .sort((a, b) => b.results - a.results || (a.name < b.name ? -1 : 1))
      .slice(0, STORE.forgetGroups);
  }
}
