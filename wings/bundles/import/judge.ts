// Judges what a bundle would make visible, before any of it is. All its blobs are stored by now.
// Guarantee: a bundle passes only if each of its results could have been exported, and names nothing but blobs of the bundle.
import { isReadElsewhere } from '../../../client/path-sets/path-sets.ts';
import type { Hash } from '../../../core/digest.ts';
import { messageOf } from '../../../core/errors.ts';
import { decodePathSet } from '../../../core/path-set.ts';
import { readBlob } from '../../../store/shared/read-blob.ts';
import type { Blobs } from '../../../store/store.ts';
import type { BlobTable } from '../format/blob-table.ts';
import { type KnownBlobs, refusedBundle, requireFit } from '../format/fit.ts';
import type { SetRecord } from '../format/records.ts';
import type { BundleManifest } from './manifest.ts';

export async function judgeRecords(manifest: BundleManifest, blobs: Blobs): Promise<void> {
  const known = knownIn(manifest.blobs, blobs);
  /** Results that no action leads to. Only labels do. */
  const labelled = new Set<string>();
  for (const record of manifest.records()) {
    if ('result' in record) {
      await requireFit(record.result, known);
      if (record.result.in !== '') labelled.add(`${record.result.in} ${record.result.key}`);
    } else if ('set' in record) {
      await requireReadable(record.set, known);
    } else if ('label' in record && !labelled.has(`${record.label.in} ${record.label.key}`)) {
      throw refusedBundle(
        `the label ${JSON.stringify(record.label.label)} names a result that is not in the bundle`,
      );
    }
  }
}

function knownIn(table: BlobTable, blobs: Blobs): KnownBlobs {
  const sizeOf = async (hash: Hash) => {
    const row = table.rowOf(hash);
    return row === undefined ? undefined : table.sizeAt(row);
  };
  return { sizeOf, missing: async (digests) => digests.filter((digest) => !table.has(digest)), blobs };
}

/** No client reads a larger set from a server. */
async function requireReadable({ action, set }: SetRecord, known: KnownBlobs): Promise<void> {
  const size = await known.sizeOf(set);
  if (size === undefined) throw refusedBundle(`the path set ${set} of ${action} is not in the bundle`);
  try {
    if (isReadElsewhere([], size) && isReadElsewhere(decodePathSet(await readBlob(set, known.blobs)), size))
      return;
  } catch (error) {
    throw refusedBundle(`the path set ${set} of ${action}: ${messageOf(error)}`);
  }
  throw refusedBundle(`the path set ${set} of ${action} has more facts than a client compares`);
}
