// Makes what a bundle has visible in a local store, once all of it is verified: results, then the path sets that lead to
// them, then labels.
// Guarantees:
// - A result that the store has stays. One with other outputs is refused, and recorded as a divergence.
// - Everything goes to the namespaces of a local store, whatever the bundle says, and is marked with the bundle.
import { addPathSet } from '../../../client/path-sets/path-sets.ts';
import { localPathSets } from '../../../client/path-sets/storage.ts';
import { concurrently } from '../../../core/concurrently.ts';
import { decodePathSet, recordedState } from '../../../core/path-set.ts';
import { readBlob } from '../../../store/shared/read-blob.ts';
import type { Store, Writer } from '../../../store/store.ts';
import type { LabelRecord, ResultRecord, SetRecord } from '../format/records.ts';
import { BUNDLE } from '../limits.ts';
import type { BundleManifest } from './manifest.ts';

/** The store or the server that takes the results of a bundle. */
export interface Destination {
  /** `unchanged`: it has that result already. `diverged`: it has another one, which stays. */
  putResult(record: ResultRecord): Promise<'stored' | 'unchanged' | 'diverged'>;
  addSet(record: SetRecord): Promise<void>;
  putLabel(record: LabelRecord): Promise<'stored' | 'taken'>;
}

export interface PublishedRecords {
  readonly stored: number;
  readonly unchanged: number;
  readonly labels: number;
  readonly refused: number;
  /** The first of what was refused, in words. */
  readonly refusals: readonly string[];
}

export async function publishRecords(
  manifest: BundleManifest,
  to: Destination,
  onRecord: (done: number) => void,
): Promise<PublishedRecords> {
  const counts = { stored: 0, unchanged: 0, labels: 0, refused: 0 };
  const refusals: string[] = [];
  let done = 0;
  const refuse = (why: string) => {
    counts.refused++;
    if (refusals.length < BUNDLE.listedRefusals) refusals.push(why);
  };
  const result = async (record: ResultRecord) => {
    const outcome = await to.putResult(record);
    if (outcome === 'diverged')
      refuse(`${record.key}: the store has a result with other outputs, which stays`);
    else counts[outcome]++;
    onRecord(++done);
  };
  const label = async (record: LabelRecord) => {
    const outcome = await to.putLabel(record);
    if (outcome === 'stored') counts.labels++;
    else refuse(`the label ${JSON.stringify(record.label)} names another result, which stays`);
    onRecord(++done);
  };
  await inPages(manifest, (record) => ('result' in record ? record.result : undefined), result);
  await inPages(
    manifest,
    (record) => ('set' in record ? record.set : undefined),
    async (record) => {
      await to.addSet(record);
      onRecord(++done);
    },
    ({ action }) => action,
  );
  /* In their order: the one that is put last is the newest. */
  for (const record of manifest.records()) if ('label' in record) await label(record.label);
  return { ...counts, refusals };
}

type AnyRecord = ReturnType<BundleManifest['records']> extends Iterable<infer R> ? R : never;

/** Several at once, so that they share commits. Those of one group come one after another. */
async function inPages<T>(
  manifest: BundleManifest,
  pick: (record: AnyRecord) => T | undefined,
  work: (record: T) => Promise<void>,
  groupOf?: (record: T) => string,
): Promise<void> {
  let page: T[] = [];
  const flush = async () => {
    const groups = groupOf ? [...Map.groupBy(page, groupOf).values()] : page.map((record) => [record]);
    await concurrently(groups, BUNDLE.putsAtOnce, async (group) => {
      for (const record of group) await work(record);
    });
    page = [];
  };
  for (const record of manifest.records()) {
    const picked = pick(record);
    if (picked !== undefined && page.push(picked) >= BUNDLE.recordsAtOnce) await flush();
  }
  await flush();
}

export function localDestination(store: Store, writer: Writer): Destination {
  const sets = localPathSets(store, writer);
  return {
    async putResult({ in: namespace, key, message }) {
      const outcome = await store.results.put({ namespace, key }, message, { writer });
      return outcome === 'replaced' ? 'stored' : outcome;
    },
    async addSet({ action, set }) {
      await addPathSet(action, decodePathSet(await readBlob(set, store.blobs)), sets, recordedState);
    },
    putLabel: ({ in: namespace, label, key }) => store.labels.put({ namespace, label }, key),
  };
}
