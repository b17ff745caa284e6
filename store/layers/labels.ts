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

  /** Newest first, of one prefix after the other. Labels that are not valid are no prefix. */
  async function* hits(namespace: Namespace, prefixes: readonly string[]): AsyncGenerator<Labelled> {
    let dead = 0;
    for (const prefix of prefixes.filter((text) => text === '' || isValidLabel(text)))
      for await (const candidate of records.withPrefix(namespace, prefix)) {
        if (await isHit(namespace, candidate)) yield candidate;
        else if (++dead === STORE.deadLabels) return;
      }
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
      for await (const hit of hits(namespace, prefixes)) return hit;
      return undefined;
    },
    async all(namespace, prefix) {
      const found: Labelled[] = [];
      for await (const hit of hits(namespace, [prefix])) {
        found.push(hit);
        if (found.length === STORE.listedLabels) break;
      }
      return found;
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
