// Imports a bundle into a local store, in this order: the head and the signature, the manifest, the content, a judgement of
// all of it, and only then the results.
//
// Invariants:
// I1 No result, path set or label is visible before every blob of the bundle is stored and verified, and every record judged.
// I2 Killed at any moment, the next import of the same bundle goes on: what the store has is neither decompressed nor stored
//    again, and a result that is there is unchanged.
// I3 What is announced decides before anything is unpacked: the format, the signature, the sizes.
import type { KeyObject } from 'node:crypto';
import { AssayError } from '../../../core/errors.ts';
import { bytes } from '../../../core/text/amounts.ts';
import type { Store } from '../../../store/store.ts';
import { Lacking } from '../format/lacking.ts';
import { BundleReader } from '../format/reader.ts';
import { requireSignature } from '../format/signature.ts';
import type { Source } from '../format/source.ts';
import { type StoredContent, storeContent } from './content.ts';
import { judgeRecords } from './judge.ts';
import { type BundleManifest, readBundleManifest } from './manifest.ts';
import { type Destination, type PublishedRecords, publishRecords } from './publish.ts';

export interface ImportOptions {
  readonly source: Source;
  /** Verifies and keeps the content. */
  readonly store: Store;
  /** The size limit of that store. */
  readonly maxBytes: number;
  /** Called when everything is verified and judged. */
  readonly destination: (manifest: BundleManifest) => Promise<Destination>;
  /** Without any, a signature is not asked for. */
  readonly trusted: readonly KeyObject[];
  readonly onProgress: (progress: ImportProgress) => void;
}

export interface ImportProgress {
  readonly doing: 'manifest' | 'content' | 'results';
  readonly done: number;
  readonly of: number;
  /** While the content is stored. */
  readonly bytes?: number;
  readonly ofBytes?: number;
}

export interface Imported extends PublishedRecords {
  readonly manifest: BundleManifest;
  readonly isSigned: boolean;
  /** Blobs that the store lacked. */
  readonly lacked: StoredContent;
}

export async function importBundle(options: ImportOptions): Promise<Imported> {
  const { source, store, maxBytes, trusted, onProgress } = options;
  const reader = await BundleReader.open(source);
  const { head } = reader;
  if (trusted.length > 0) requireSignature(head, trusted);
  if (head.contentBytes > maxBytes)
    throw new AssayError(
      'ASSAY_BUNDLE_TOO_LARGE',
      `it has ${bytes(head.contentBytes)}, and the store takes ${bytes(maxBytes)}`,
    );
  onProgress({ doing: 'manifest', done: 0, of: head.manifestBytes });
  const manifest = await readBundleManifest(reader);
  try {
    const { blobs: table, counts } = manifest;
    const lacking = await Lacking.of(table, store.blobs);
    const progress = ({ blobs, bytes: done }: StoredContent) =>
      onProgress({ doing: 'content', done: blobs, of: lacking.blobs, bytes: done, ofBytes: lacking.bytes });
    progress({ blobs: 0, bytes: 0 });
    await storeContent(reader, table, lacking, store.blobs, progress);
    await reader.finish();
    const lost = await Lacking.of(table, store.blobs);
    if (lost.blobs > 0)
      throw new AssayError(
        'ASSAY_STORE_FULL',
        `${lost.blobs} blobs of the bundle were evicted while it was imported`,
      );
    await judgeRecords(manifest, store.blobs);
    const destination = await options.destination(manifest);
    const of = counts.results + counts.sets + counts.labels;
    const published = await publishRecords(manifest, destination, (done) =>
      onProgress({ doing: 'results', done, of }),
    );
    return { manifest, isSigned: head.signature !== undefined, lacked: lacking, ...published };
  } finally {
    manifest.close();
  }
}
