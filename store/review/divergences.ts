// Lists divergences: keys with two results, who wrote each of them, and their first difference.
// Left out is a key whose results have become equal: the first one was forgotten, and the command ran again.
import { type HitVerdict, receiptOf } from '../../core/metadata/receipt.ts';
import type { Namespace } from '../../core/namespace.ts';
import { decodeResult, deterministicPart } from '../../core/result.ts';
import type { Blobs, Divergence, Review, StoredResult } from '../store.ts';
import type { ByteBudget } from './first-byte.ts';
import { firstDifference, type ResultDifference } from './first-difference.ts';

export interface ListedDivergence {
  readonly namespace: string;
  readonly key: string;
  /** The one that clients get. */
  readonly first: ListedWriter | null;
  /** The newest of those with other outputs. */
  readonly second: ListedWriter | null;
  readonly difference: ResultDifference;
  /** The second result was made by a check of the first (`assay run --check-hits`), and this is what it found. */
  readonly checked?: HitVerdict;
}

/** Null if the result has no recorded writer. */
export interface ListedWriter {
  readonly name: string;
  readonly from?: string;
  readonly protocol: string;
  readonly at: string;
}

interface ListOptions {
  readonly isShown: (namespace: Namespace) => boolean;
  /** With the addresses of clients. */
  readonly withAddresses: boolean;
  /** How many bytes of blobs to read for all divergences together. Undefined: any number. */
  readonly maxBytes?: number | undefined;
}

export async function* listDivergences(
  review: Review,
  blobs: Blobs,
  { isShown, withAddresses, maxBytes }: ListOptions,
): AsyncGenerator<ListedDivergence> {
  const budget: ByteBudget = { left: maxBytes };
  for await (const divergence of review.divergences()) {
    const { address, first, second } = divergence;
    if (!isShown(address.namespace) || areEqual(divergence)) continue;
    const { checked } = receiptOf(decodeResult(second.bytes));
    yield {
      namespace: address.namespace,
      key: address.key,
      first: writerOf(first, withAddresses),
      second: writerOf(second, withAddresses),
      difference: await firstDifference(blobs, first.bytes, second.bytes, budget),
      ...(checked && { checked }),
    };
  }
}

function areEqual({ first, second }: Divergence): boolean {
  const [a, b] = [first, second].map(({ bytes }) => deterministicPart(decodeResult(bytes)));
  return a !== undefined && b !== undefined && Buffer.compare(a, b) === 0;
}

function writerOf({ writer }: StoredResult, withAddress: boolean): ListedWriter | null {
  if (!writer) return null;
  const { name, from, via, at } = writer;
  return { name, ...(withAddress && { from }), protocol: via, at: new Date(at).toISOString() };
}
