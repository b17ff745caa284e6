// Shared by both batch calls: the limit of a batch, and the status of one blob.
import { AssayError, messageOf } from '../../../core/errors.ts';
import { GRPC_STATUS, grpcStatusOf } from '../../../core/grpc-status.ts';
import type { Status } from '../../../core/proto/generated/google/rpc/status.ts';
import type { ServerContext } from '../../context.ts';
import { plainMessage } from '../../grpc/call.ts';
import type { ServerLimits } from '../../limits.ts';

export const OK: Status = { code: GRPC_STATUS.OK, message: '', details: [] };

/** `sizes`: the uncompressed sizes of the digests, also for compressed data. */
export function checkBatchSize(
  sizes: readonly number[],
  { maxBatchBytes, maxBatchBlobs }: ServerLimits,
): void {
  if (sizes.length > maxBatchBlobs) throw tooLarge(`${sizes.length} blobs; the limit is ${maxBatchBlobs}`);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (total > maxBatchBytes) throw tooLarge(`${total} bytes; the limit is ${maxBatchBytes}`);
}

/** The status of one blob. A failure of one blob does not fail the call. */
export function statusFor(thrown: unknown, { log }: ServerContext): Status {
  const error = thrown instanceof AssayError ? thrown : new AssayError('ASSAY_INTERNAL', messageOf(thrown));
  if (error.entry.status >= 500)
    log.warn({ code: error.code, detail: error.detail, err: thrown }, error.entry.summary);
  return { code: GRPC_STATUS[grpcStatusOf(error.entry)], message: plainMessage(error), details: [] };
}

function tooLarge(detail: string): AssayError {
  return new AssayError('ASSAY_BATCH_TOO_LARGE', detail);
}
