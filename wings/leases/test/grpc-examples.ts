// Valid calls for the methods of action leases. test/attack/access-matrix.test.ts sends them.
import { ACTION_LEASES_SERVICE } from '../../../core/action-lease.ts';
import { ActionLeaseRequest } from '../../../core/proto/generated/action-leases.ts';
import { KEY, markOf } from '../../../test/attack/access/content.ts';
import type { GrpcExamples } from '../../../test/attack/access/grpc-examples.ts';

const request = (identity: string) => {
  const about = { key: KEY.hash, holder: markOf(identity), fence: '1.1', waitMs: 1, reason: 'failed' };
  const nothing = ActionLeaseRequest.decode(new Uint8Array(0));
  return [[ActionLeaseRequest.encode({ ...nothing, ...about, id: '7'.repeat(32) }).finish()]];
};

export const GRPC_EXAMPLES: GrpcExamples = Object.fromEntries(
  ['Acquire', 'Wait', 'Heartbeat', 'Release'].map((method) => [
    `/${ACTION_LEASES_SERVICE}/${method}`,
    request,
  ]),
);
