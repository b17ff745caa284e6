// A hit: a stored result that a lookup accepted for an action, ready to be restored and replayed.
import type { Hash } from '../../core/digest.ts';
import type { EvidenceStatus } from '../../core/evidence.ts';
import type { PathSet } from '../../core/path-set.ts';
import type { Output } from '../outputs/outputs.ts';
import type { SetCheck } from '../path-sets/states.ts';
import type { Log } from '../process/log.ts';
import type { HitReceipt } from './receipt.ts';

export interface Hit {
  readonly outcome: 'hit-local' | 'hit-remote';
  readonly reason: string;
  /**
   * The key under which the result is stored, and the digest of the result: after an eviction it may be
   * another one.
   */
  readonly address: Hash;
  readonly result: Hash;
  readonly outputs: readonly Output[];
  readonly log: Log;
  readonly exitCode: number;
  /** This machine alone keeps it (--cache-failures=local). No state may be recorded of it: it is kept for a day. */
  readonly isKeptFailure?: true;
  /** The duration of the command when it ran. */
  readonly commandMs: number;
  readonly status: EvidenceStatus;
  /** Absent if the caller, not this lookup, compared the facts. */
  readonly receipt?: HitReceipt;
  /** The path set that led to the result, if any. */
  readonly set?: PathSet | undefined;
  /**
   * What shows that the path set that led to the result still holds; it holds now. Undefined if nothing but a
   * full lookup shows that.
   */
  setCheck(): SetCheck | undefined;
}
