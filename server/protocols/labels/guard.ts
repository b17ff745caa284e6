// Finds the lease that decides whether a label may be written: that of the action whose checkpoint or state the label names.
// A checkpoint is KEY/COUNT or KEY/FENCE/COUNT in the namespace `checkpoint`, a state STEP/COMMIT/KEY or
// STEP/COMMIT/KEY/FENCE in `state`; the lease lies in the namespace above. Any other label can name its action itself.
import { isSameFence, parseFence } from '../../../core/action-lease.ts';
import { isHash, parseHash } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { type Namespace, parseRequestedNamespace } from '../../../core/namespace.ts';
import type { LabelGuard } from '../../../store/action-leases.ts';
import type { LabelAddress } from '../../../store/store.ts';

export interface FencedPut {
  /** The key of the action. */
  readonly action?: string;
  readonly fence?: string;
}

/** Undefined for a label of no action: it is written as it is. */
export function guardOf(
  { namespace, label }: LabelAddress,
  { action, fence: text }: FencedPut,
): LabelGuard | undefined {
  const slash = namespace.lastIndexOf('/');
  const placeOfKey = PLACES.get(namespace.slice(slash + 1));
  const parts = label.split('/');
  const key = action ?? (placeOfKey === undefined ? '' : (parts[placeOfKey] ?? ''));
  const above = placeOfKey === undefined ? namespace : aboveOf(namespace, slash);
  if (text === undefined) return isHash(key) ? { lease: { namespace: above, key } } : undefined;
  const fence = parseFence(text);
  if (!fence) throw new AssayError('ASSAY_BAD_MESSAGE', 'fence is not EPOCH.NUMBER');
  const named = placeOfKey === undefined ? undefined : parseFence(parts[placeOfKey + 1] ?? '');
  if (named && !isSameFence(fence, named))
    throw new AssayError('ASSAY_STALE_FENCE', 'the label names the fence of another lease');
  return { lease: { namespace: above, key: parseHash(key) }, fence };
}

/** Which part of a label is the key. */
const PLACES: ReadonlyMap<string, number> = new Map([
  ['checkpoint', 0],
  ['state', 2],
]);

function aboveOf(namespace: Namespace, slash: number): Namespace {
  return parseRequestedNamespace(namespace.slice(0, Math.max(0, slash)));
}
