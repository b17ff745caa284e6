// Action leases over gRPC: the service assay.v1.ActionLeases. Older servers answer UNIMPLEMENTED.
import { ACTION_LEASES_SERVICE } from '../../core/action-lease.ts';
import { ActionLeaseAnswer, ActionLeaseRequest } from '../../core/proto/generated/action-leases.ts';
import { FLAT } from '../../core/proto/request-shapes.ts';
import { all } from '../../server/access/rights.ts';
import { type Methods, type NewMethod, service, singleRequest } from '../../server/grpc/method.ts';
import type { LeaseMethod, LeaseService } from './service.ts';

const NOTHING = ActionLeaseAnswer.decode(new Uint8Array(0));

export function leaseMethods(leases: () => LeaseService): Methods {
  const method = (name: LeaseMethod): NewMethod => [
    all('leases'),
    singleRequest(ActionLeaseRequest, FLAT, async ({ instanceName, step, ...fields }, call) => {
      const asked = { ...fields, namespace: instanceName, step: step.toString('hex') };
      const found = await leases()[name](call, asked);
      call.answer(ActionLeaseAnswer.encode({ ...NOTHING, ...found }).finish());
    }),
    name === 'wait',
  ];
  return service(ACTION_LEASES_SERVICE, {
    Acquire: method('acquire'),
    Wait: method('wait'),
    Heartbeat: method('heartbeat'),
    Release: method('release'),
  });
}
