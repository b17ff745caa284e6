// Reads what a server answers about a lease. Another server, or an attacker, may send anything: what can't be read is
// absent.
import {
  ACTION_LEASE_MARK,
  END_REASONS,
  type EndReason,
  type Fence,
  parseFence,
} from '../../../core/action-lease.ts';
import type { Ended, HeldByOther } from './place.ts';

export interface LeaseReply {
  readonly mark?: unknown;
  readonly outcome?: unknown;
  readonly fence?: unknown;
  readonly holder?: unknown;
  readonly leftMs?: unknown;
  readonly reason?: unknown;
  readonly detail?: unknown;
  readonly heartbeatMs?: unknown;
  readonly retryMs?: unknown;
}

/** Undefined for the text of a server that has no leases. */
export function replyIn(text: string): LeaseReply | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const answer: LeaseReply | undefined = typeof value === 'object' && value !== null ? value : undefined;
    return answer?.mark === ACTION_LEASE_MARK ? answer : undefined;
  } catch {
    return undefined;
  }
}

export function repliedFence(answer: LeaseReply | undefined): Fence | undefined {
  return typeof answer?.fence === 'string' ? parseFence(answer.fence) : undefined;
}

export function repliedNumber(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? value : undefined;
}

export function heldIn(answer: LeaseReply | undefined): HeldByOther | undefined {
  if (answer?.outcome !== 'held') return undefined;
  const { holder, leftMs } = answer;
  return {
    outcome: 'held',
    holder: textIn(holder),
    leftMs: repliedNumber(leftMs),
    fence: repliedFence(answer),
  };
}

export function endedIn(answer: LeaseReply | undefined): Ended | undefined {
  const reason = END_REASONS.find((one): one is EndReason => one === answer?.reason);
  if (answer?.outcome !== 'ended' || !reason) return undefined;
  return { outcome: 'ended', reason, detail: textIn(answer.detail), fence: repliedFence(answer) };
}

/** A text of a length that a terminal shows. */
function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= 200 ? value : undefined;
}
