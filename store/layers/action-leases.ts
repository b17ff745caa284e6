// The layer of action leases: who is granted a lease, and which write of a label it allows.
// The engine stores one record for each action, replaces it only if it is still the one that was read, and has the
// clock. So each decision here is made on a record, and is made again if the record has changed meanwhile.
//
// Invariants:
// F1 At most one lease of an action is alive: a new one replaces a record only after that has ended.
// F2 The fence of a new lease is taken after the record that it replaces was read, so it is greater.
// F3 A label is written with a fence only while the record with this fence is the newest of the action. The engine
//    compares the record in the transaction of the label.
import { isSameFence } from '../../core/action-lease.ts';
import { AssayError } from '../../core/errors.ts';
import type {
  Acquired,
  ActionLeases,
  Holding,
  LabelGuard,
  LeaseAddress,
  LeaseRecord,
  LeaseRecords,
  LeaseState,
  UnchangedLease,
} from '../action-leases.ts';
import { STORE } from '../limits.ts';

export function actionLeases(records: LeaseRecords): ActionLeases {
  async function find(address: LeaseAddress): Promise<{ now: number; record: LeaseRecord | undefined }> {
    const { now, records: found } = await records.get([address]);
    return { now, record: found[0] };
  }

  /** Changes the record of a lease that is still the newest, and was not released. False for another one. */
  async function change(
    address: LeaseAddress,
    { id, fence }: Holding,
    changed: (record: LeaseRecord, now: number) => LeaseRecord,
  ): Promise<boolean> {
    for (;;) {
      const { now, record } = await find(address);
      if (!record || record.end || record.id !== id || !isSameFence(record.fence, fence)) return false;
      if (await records.put(address, changed(record, now), record)) return true;
    }
  }

  return {
    async acquire(address, request): Promise<Acquired> {
      for (;;) {
        const { now, record } = await find(address);
        const lease = record && stateOf(record, now);
        if (lease && !lease.end)
          return record.id === request.id
            ? { outcome: 'granted', lease, isRepeated: true }
            : { outcome: 'held', lease };
        if (lease?.end?.reason === 'done' && !isSameFence(lease.fence, request.after))
          return { outcome: 'ended', lease };
        const { id, holder, expectedMs } = request;
        const fence = await records.nextFence();
        const granted = { fence, id, holder, expectedMs, since: now, until: now + STORE.actionLeaseMs };
        if (await records.put(address, granted, record))
          return { outcome: 'granted', lease: stateOf(granted, now), replaced: lease };
      }
    },
    heartbeat: (address, holding) =>
      change(address, holding, (record, now) => ({
        ...record,
        // A clock that was set back.
        since: Math.min(record.since, now),
        until: now + STORE.actionLeaseMs,
      })),
    release: (address, holding, end) =>
      change(address, holding, (record, now) => ({ ...record, until: now, end })),
    async states(addresses) {
      const { now, records: found } = await records.get(addresses);
      return found.map((record) => record && stateOf(record, now));
    },
    async forgetEnded(most) {
      const { now } = await records.get([]);
      return records.removeBefore(now - STORE.endedLeaseMs, most);
    },
  };
}

/** A lease that began later than now is over: the clock was set back, and it could last for ever. */
function stateOf(record: LeaseRecord, now: number): LeaseState {
  const { fence, holder, expectedMs, since, until } = record;
  const isLiving = since <= now && now < until;
  const end = record.end ?? (isLiving ? undefined : { reason: 'expired' as const });
  return {
    fence,
    holder,
    expectedMs,
    heldMs: Math.max(0, Math.min(now, until) - since),
    expiresInMs: isLiving ? until - now : 0,
    end,
  };
}

/**
 * The condition under which the label may be written. Throws if it may not: with a fence that is not the newest of the
 * action, or without one while another run holds the lease, for at most STORE.guardedLabelMs after its start.
 */
export async function labelCondition(
  records: LeaseRecords,
  { lease: address, fence }: LabelGuard,
): Promise<UnchangedLease> {
  const { now, records: found } = await records.get([address]);
  const [record] = found;
  const lease = record && stateOf(record, now);
  if (fence) {
    if (!isSameFence(fence, lease?.fence)) throw staleFence(lease);
  } else if (lease && !lease.end && lease.heldMs < STORE.guardedLabelMs) throw leased(lease);
  return { address, record };
}

function staleFence(newest: LeaseState | undefined): AssayError {
  const why = newest ? 'another run has taken the action over' : 'its lease has ended and is forgotten';
  return new AssayError('ASSAY_STALE_FENCE', why);
}

function leased({ heldMs }: LeaseState): AssayError {
  const seconds = Math.round(heldMs / 1000);
  return new AssayError('ASSAY_LABEL_LEASED', `another run has held the action's lease for ${seconds} s`);
}
