// Plans transfers: small blobs in batches that fit one message, each large blob alone.
import type { Digest } from '../../../core/digest.ts';
import { GRPC_REMOTE } from '../../limits.ts';

/** An upper bound for digest, size and framing per entry. */
const ENTRY_BYTES = 128;

export type BlobTransfer = { readonly batch: readonly Digest[] } | { readonly single: Digest };

/** `maxBatchBytes`: the server's limit; 0 if it has none. */
export function planTransfers(digests: readonly Digest[], maxBatchBytes: number): BlobTransfer[] {
  const room = Math.min(maxBatchBytes || GRPC_REMOTE.batchBytes, GRPC_REMOTE.batchBytes);
  const fits = ({ size }: Digest) => size <= GRPC_REMOTE.batchedBlobBytes && size + ENTRY_BYTES <= room;
  const singles = digests.filter((digest) => !fits(digest)).map((single) => ({ single }));
  const batches: Digest[][] = [];
  let left = 0;
  for (const digest of digests.filter(fits)) {
    const last = batches.at(-1);
    left -= digest.size + ENTRY_BYTES;
    if (last && left >= 0 && last.length < GRPC_REMOTE.batchEntries) {
      last.push(digest);
    } else {
      batches.push([digest]);
      left = room - digest.size - ENTRY_BYTES;
    }
  }
  return [...singles, ...batches.map((batch) => ({ batch }))];
}

export function slices<T>(items: readonly T[], length: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / length) }, (_, at) =>
    items.slice(at * length, (at + 1) * length),
  );
}
