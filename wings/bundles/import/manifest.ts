// The manifest of a bundle, which an import reads and verifies before any content: its records in a temporary file, its blobs in
// a table.
import type { Hash } from '../../../core/digest.ts';
import { BlobTable } from '../format/blob-table.ts';
import type { BundleReader } from '../format/reader.ts';
import { type BundleRecord, decodeRecord, type Maker } from '../format/records.ts';
import { Spool } from '../format/spool.ts';
import { damaged } from '../format/tar.ts';

export interface BundleManifest {
  readonly bundle: Hash;
  readonly made: Maker;
  readonly blobs: BlobTable;
  readonly counts: ManifestCounts;
  /** Without the blobs, in the order of the manifest. */
  records(): Iterable<Exclude<BundleRecord, { readonly blob: unknown }>>;
  close(): void;
}

interface ManifestCounts {
  readonly results: number;
  readonly sets: number;
  readonly labels: number;
  readonly blobs: number;
  readonly bytes: number;
}

/** Throws unless the manifest is the one that the head names, and its blobs are as many bytes as that announces. */
export async function readBundleManifest(reader: BundleReader): Promise<BundleManifest> {
  const { bundle, contentBytes } = reader.head;
  const spool = new Spool();
  try {
    for await (const slice of reader.manifest()) spool.add(slice);
    if (spool.hash() !== bundle) throw damaged('the manifest has not the digest that the head has for it');
    const { made, blobs, ...counts } = contentsOf(spool);
    const bytes = blobs.totalBytes;
    if (bytes !== contentBytes) throw damaged('the head announces other content than the manifest');
    return {
      bundle,
      made,
      blobs,
      counts: { ...counts, blobs: blobs.length, bytes },
      *records() {
        for (const line of spool.lines()) {
          const record = decodeRecord(line);
          /* Nothing but blobs follows one, and there may be a million. */
          if ('blob' in record) return;
          yield record;
        }
      },
      close: () => spool.close(),
    };
  } catch (error) {
    spool.close();
    throw error;
  }
}

function contentsOf(spool: Spool) {
  const blobs = new BlobTable();
  const counts = { results: 0, sets: 0, labels: 0 };
  let made: Maker | undefined;
  let last = '';
  for (const line of spool.lines()) {
    const record = decodeRecord(line);
    if ('made' in record !== (made === undefined))
      throw damaged('the manifest does not begin with its maker');
    if ('made' in record) made = record.made;
    else if ('blob' in record) {
      if (record.blob.hash <= last) throw damaged('the blobs of the manifest are not in order');
      last = record.blob.hash;
      blobs.add(record.blob);
    } else if (last !== '') throw damaged('the manifest goes on after its blobs');
    else if ('result' in record) counts.results++;
    else if ('set' in record) counts.sets++;
    else counts.labels++;
  }
  if (!made) throw damaged('the manifest is empty');
  blobs.sort();
  return { made, blobs, ...counts };
}
