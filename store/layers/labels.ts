// The label layer: a label leads to a hit or is not found, and keeps its result for as long as that is a hit.
//
// Sits above all layers of results: their `get` decides whether a label's result is a hit, and leases it. A
// label whose result is gone can be put again: a put takes a label only if the label's result was missing at a moment
// of the put. Of two puts that replace one result, the engine lets only one through; the other one begins again.
// A search ends after STORE.deadLabels labels without a hit: anybody may put any number of them.
import { AssayError } from '../../core/errors.ts';
import type { Namespace } from '../../core/namespace.ts';
import { isLossless } from '../../core/text/lossless.ts';
import type { LabelGuard, LeaseRecords } from '../action-leases.ts';
import { STORE } from '../limits.ts';
import type { LabelAddress, Labelled, LabelRecords, Labels, Results } from '../store.ts';
import { labelCondition } from './action-leases.ts';

export function liveLabels(records: LabelRecords, results: Results, leases: LeaseRecords): Labels {
  async function isHit(namespace: Namespace, { key }: Labelled): Promise<boolean> {
    return (await results.get({ namespace, key })) !== undefined;
  }

  async function firstHit(namespace: Namespace, prefixes: readonly string[]): Promise<Labelled | undefined> {
    let dead = 0;
    for (const prefix of prefixes)
      for await (const candidate of records.withPrefix(namespace, prefix)) {
        if (await isHit(namespace, candidate)) return candidate;
        if (++dead === STORE.deadLabels) return undefined;
      }
    return undefined;
  }

  async function put(
    address: LabelAddress,
    key: Labelled['key'],
    guard?: LabelGuard,
  ): Promise<'stored' | 'taken'> {
    refuseInvalidLabel(address.label);
    const lease = guard && (await labelCondition(leases, guard));
    const current = await records.get(address);
    if (current?.key === key) return 'stored';
    if (current && (await isHit(address.namespace, current))) return 'taken';
    return (await records.put(address, key, current, lease)) ? 'stored' : put(address, key, guard);
  }

  return {
    put,
    async newest(namespace, prefixes, exact) {
      if (exact !== undefined && isValidLabel(exact)) {
        const named = await records.get({ namespace, label: exact });
        if (named && (await isHit(namespace, named))) return named;
      }
      return firstHit(
        namespace,
        prefixes.filter((text) => text === '' || isValidLabel(text)),
      );
    },
  };
}

/** For callers that must validate a label before they store its content. */
export function refuseInvalidLabel(label: string): void {
  if (!isValidLabel(label)) throw new AssayError('ASSAY_BAD_LABEL', JSON.stringify(label.slice(0, SHOWN)));
}

const SHOWN = 100;

function isValidLabel(label: string): boolean {
  const length = Buffer.byteLength(label);
  return length > 0 && length <= STORE.maxLabelBytes && !label.includes('\0') && isLossless(label);
}
