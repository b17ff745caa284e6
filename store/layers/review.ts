// The review layer: lists, compares and removes the records of all namespaces, also those that clients can't
// name. For a person who answers an incident.
//
// Sits directly on the engine's records and labels: whether the blobs of a result are present does not matter here.
import { storedNamespace } from '../../core/namespace.ts';
import type {
  Divergence,
  LabelRecords,
  ResultAddress,
  ResultRecords,
  Review,
  ReviewedResult,
} from '../store.ts';
import { divergedFrom, rivalAddress } from './divergence.ts';

export function reviewOf(records: ResultRecords, labelRecords: LabelRecords): Review {
  async function* results(): AsyncGenerator<ReviewedResult> {
    let position: string | undefined;
    do {
      const page = await records.after(position);
      for (const { address, result } of page.records) {
        const original = divergedFrom(address);
        if (original) yield { address: original, result, isRival: true };
        else if (isStored(address)) yield { address, result, isRival: false };
      }
      position = page.position;
    } while (position !== undefined);
  }

  async function* labels(): ReturnType<Review['labels']> {
    for (const namespace of await labelRecords.namespaces())
      for await (const labelled of labelRecords.withPrefix(namespace, '')) yield { namespace, ...labelled };
  }

  async function* divergences(): AsyncGenerator<Divergence> {
    for await (const { address, result, isRival } of results()) {
      const first = isRival ? await records.get(address) : undefined;
      if (first) yield { address, first, second: result };
    }
  }

  return {
    labels,
    results,
    remove: ({ address, result, isRival }) =>
      records.remove(isRival ? rivalAddress(address) : address, result),
    removeDeadLabel: async ({ namespace, label, key }) =>
      !(await records.get({ namespace, key })) && labelRecords.remove({ namespace, label }, key),
    divergences,
  };
}

/** False for a namespace with a flipped bit. */
function isStored({ namespace }: ResultAddress): boolean {
  return storedNamespace(namespace) !== undefined;
}
