// The fields of a request for a lease, from JSON or from a message: checked here, so that the rest relies on them.
import {
  type Fence,
  isLeaseId,
  isReleaseReason,
  LONGEST_POLL_MS,
  parseFence,
} from '../../core/action-lease.ts';
import { parseHash } from '../../core/digest.ts';
import { AssayError } from '../../core/errors.ts';
import { isStepId, type StepId } from '../../core/metadata/step-id.ts';
import { parseRequestedNamespace } from '../../core/namespace.ts';
import { visible } from '../../core/text/visible.ts';
import { PROTOCOL } from '../../server/limits.ts';
import type { Holding, LeaseAddress, LeaseRelease } from '../../store/action-leases.ts';
import { LEASES } from './limits.ts';

/** The fields as the client sent them. A field that is absent is empty or 0. */
export interface LeaseFields {
  readonly namespace: string;
  readonly key: string;
  readonly id: string;
  readonly holder: string;
  readonly expectedMs: number;
  readonly step: string;
  readonly fence: string;
  readonly after: string;
  readonly waitMs: number;
  readonly reason: string;
  readonly detail: string;
}

export const NO_FIELDS: LeaseFields = {
  ...{ namespace: '', key: '', id: '', holder: '', expectedMs: 0, step: '' },
  ...{ fence: '', after: '', waitMs: 0, reason: '', detail: '' },
};

/** The address that the request names, without the namespace of its token. */
export function addressIn({ namespace, key }: LeaseFields): LeaseAddress {
  return { namespace: parseRequestedNamespace(namespace), key: parseHash(key) };
}

export function idIn({ id }: LeaseFields): string {
  if (isLeaseId(id)) return id;
  throw invalid('id is not 32 lower-case hex digits');
}

export function fenceIn({ fence }: LeaseFields): Fence {
  const parsed = parseFence(fence);
  if (parsed) return parsed;
  throw invalid('fence is not EPOCH.NUMBER');
}

export function afterIn({ after }: LeaseFields): Fence | undefined {
  const parsed = after === '' ? undefined : parseFence(after);
  if (after === '' || parsed) return parsed;
  throw invalid('after is not EPOCH.NUMBER');
}

export function holdingIn(fields: LeaseFields): Holding {
  return { id: idIn(fields), fence: fenceIn(fields) };
}

export function holderIn({ holder }: LeaseFields): string {
  return shortText('holder', holder, LEASES.maxHolder);
}

/** Undefined if the client does not know it. */
export function expectedIn({ expectedMs }: LeaseFields): number | undefined {
  const isValid = Number.isFinite(expectedMs) && expectedMs >= 0;
  if (!isValid) throw invalid('expectedMs is not a number of milliseconds');
  return expectedMs === 0 ? undefined : Math.min(Math.ceil(expectedMs), PROTOCOL.maxDurationMs);
}

/** Undefined for what is no id, as if the client had named no step. */
export function stepIdIn({ step }: LeaseFields): StepId | undefined {
  return isStepId(step) ? step : undefined;
}

export function waitIn({ waitMs }: LeaseFields): number {
  if (!Number.isFinite(waitMs) || waitMs < 0) throw invalid('waitMs is not a number of milliseconds');
  return Math.min(waitMs, LONGEST_POLL_MS);
}

export function releaseIn({ reason, detail }: LeaseFields): LeaseRelease {
  if (!isReleaseReason(reason)) throw invalid('reason is not done, failed, unkept or cancelled');
  const text = shortText('detail', detail, LEASES.maxDetail);
  return text === '' ? { reason } : { reason, detail: text };
}

function shortText(name: string, text: string, most: number): string {
  if (text.length > most) throw invalid(`${name} is longer than ${most} characters`);
  return visible(text);
}

function invalid(detail: string): AssayError {
  return new AssayError('ASSAY_BAD_MESSAGE', detail);
}
