// Action leases as client and server name them: who runs an action now, so that others wait for its result.
// A lease is advice: without one, everybody runs. Its fence is what a write of its holder carries.
//
// Guarantee: a later lease of a store has a greater fence, also after the store was restored from a copy.

/** HTTP: POST to this path and a method. gRPC: the service. */
export const ACTION_LEASES_PATH = '/action-leases/v1/';
export const ACTION_LEASES_SERVICE = 'assay.v1.ActionLeases';
/** Each answer has it: other servers answer the URL in many ways. */
export const ACTION_LEASE_MARK = 'assay.v1.ActionLease';
/** One wait is open for at most so long: proxies cut a request without an answer after 60 s. A client asks for less only in its last wait. */
export const LONGEST_POLL_MS = 30_000;

/** A restored store has a later epoch. Within an epoch, numbers grow. */
export interface Fence {
  readonly epoch: number;
  readonly number: number;
}

/**
 * How a lease ended. `done`: the result is published. `failed`: the command failed. `unkept`: it succeeded, and its
 * result was not kept. `cancelled`: its holder was interrupted. `expired`: no heartbeat came.
 */
export const END_REASONS = ['done', 'failed', 'unkept', 'cancelled', 'expired'] as const;

export type EndReason = (typeof END_REASONS)[number];

/** A holder sends one of these. Only a server finds that a lease has expired. */
export type ReleaseReason = Exclude<EndReason, 'expired'>;

export function isReleaseReason(text: string): text is ReleaseReason {
  return text !== 'expired' && END_REASONS.some((reason) => reason === text);
}

/** A try of one run to hold a lease: 32 random hex digits that nobody else learns. */
export function isLeaseId(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text);
}

export function fenceText({ epoch, number }: Fence): string {
  return `${epoch}.${number}`;
}

/** Undefined for any other text. */
export function parseFence(text: string): Fence | undefined {
  const [, epoch, number] = /^(0|[1-9]\d{0,12})\.(0|[1-9]\d{0,14})$/.exec(text) ?? [];
  return epoch === undefined || number === undefined
    ? undefined
    : { epoch: Number(epoch), number: Number(number) };
}

export function isSameFence(one: Fence, other: Fence | undefined): boolean {
  return one.epoch === other?.epoch && one.number === other.number;
}

/** Negative if the first is the earlier one. */
export function compareFences(one: Fence, other: Fence): number {
  return one.epoch - other.epoch || one.number - other.number;
}

/** The step from one number to the next. It is random: equal steps would tell a tenant how many actions others execute. */
export function fenceStep(): number {
  return 1 + Math.floor(Math.random() * FENCE_STEPS);
}

const FENCE_STEPS = 1000;
