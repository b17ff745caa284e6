// Writes a bundle of what was collected.
// Guarantees:
// - A file is there under its name only when it is whole and synced. A killed export leaves FILE.partial, and the next one
//   replaces it.
// - A blob that the store loses meanwhile ends the export: a bundle has all that its manifest names.
import type { KeyObject } from 'node:crypto';
import { AssayError } from '../../../core/errors.ts';
import type { Blobs } from '../../../store/store.ts';
import type { BlobTable } from '../format/blob-table.ts';
import { LeaseRenewal } from '../format/lacking.ts';
import { type Head, SLICE_BYTES } from '../format/layout.ts';
import { encodeRecord } from '../format/records.ts';
import { signBundle } from '../format/signature.ts';
import { type Sink, writeBundle } from '../format/writer.ts';
import type { Collected } from './collect.ts';

interface ExportOptions {
  readonly collected: Collected;
  readonly blobs: Blobs;
  readonly sink: Sink;
  readonly key?: KeyObject | undefined;
  readonly onContent: (bytes: number, of: number) => void;
}

export interface Exported {
  readonly head: Head;
  /** Of the whole bundle. */
  readonly bytes: number;
}

export async function exportBundle(options: ExportOptions): Promise<Exported> {
  const { collected, blobs, sink, key, onContent } = options;
  const { spool, blobs: table } = collected;
  for (const blob of table.rows(0, table.length)) spool.add(Buffer.from(encodeRecord({ blob })));
  const bundle = spool.hash();
  const head = {
    bundle,
    manifestBytes: spool.bytes,
    contentBytes: table.totalBytes,
    ...(key && { signature: signBundle(bundle, key) }),
  };
  const content = contentOf(table, blobs, (done) => onContent(done, head.contentBytes));
  return { head, bytes: await writeBundle({ head, manifest: spool.slices(), content }, sink) };
}

/** All blobs one after another, in slices. */
async function* contentOf(
  table: BlobTable,
  blobs: Blobs,
  onBytes: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  let slice = Buffer.allocUnsafe(SLICE_BYTES);
  let filled = 0;
  let done = 0;
  const leases = new LeaseRenewal(table, blobs);
  for (let row = 0; row < table.length; row++) {
    for await (const chunk of chunksOf(table, row, blobs)) {
      for (let at = 0; at < chunk.length; ) {
        const copied = chunk.copy(slice, filled, at);
        filled += copied;
        at += copied;
        if (filled < SLICE_BYTES) continue;
        yield slice;
        [slice, filled] = [Buffer.allocUnsafe(SLICE_BYTES), 0];
      }
      done += chunk.length;
      onBytes(done);
    }
    await leases.ifDue();
  }
  if (filled > 0) yield slice.subarray(0, filled);
}

async function* chunksOf(table: BlobTable, row: number, blobs: Blobs): AsyncGenerator<Buffer> {
  const { hash, size } = table.at(row);
  const blob = await blobs.get(hash);
  if (blob?.size !== size) throw lost(hash);
  if (blob.bytes) yield blob.bytes;
  else yield* blob.chunks();
}

function lost(hash: string): AssayError {
  return new AssayError(
    'ASSAY_NOT_FOUND',
    `the store lost ${hash} while it was exported; run the command again, which leaves out what is gone`,
  );
}
