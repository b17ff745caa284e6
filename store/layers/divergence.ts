// The divergence layer: a key with a complete result keeps it. A second result with other outputs is stored
// as its rival and reported, and never replaces the first, even if both come at once. The exceptions are in
// core/precedence.ts: a success replaces a failure, a proven result an unproven one. If a caller replaces a
// result, the new one stays, and other outputs are reported. A result that is put `asRival` is never served: it is
// stored beside a result with other outputs, or not at all.
//
// Sits directly on the engine's records, which alone can replace conditionally. The completeness layer above
// has already collected the references.
import { type Namespace, storedNamespace } from '../../core/namespace.ts';
import { takesPrecedence } from '../../core/precedence.ts';
import { decodeResult, deterministicPart } from '../../core/result.ts';
import type { OnStoreEvent } from '../events.ts';
import type {
  Blobs,
  ResultAddress,
  ResultOutcome,
  ResultPutOptions,
  ResultRecords,
  StoredResult,
} from '../store.ts';

export interface DivergingResults {
  get(address: ResultAddress, inSameView?: boolean): Promise<StoredResult | undefined>;
  use(address: ResultAddress, result: StoredResult): Promise<void>;
  put(address: ResultAddress, result: StoredResult, options?: ResultPutOptions): Promise<ResultOutcome>;
  /** Only if `replacing`, as `get` returned it, is still stored. */
  replace(
    address: ResultAddress,
    result: StoredResult,
    replacing: StoredResult | undefined,
  ): Promise<boolean>;
}

export function recordingDivergence(
  records: ResultRecords,
  blobs: Blobs,
  onEvent: OnStoreEvent,
): DivergingResults {
  async function put(
    address: ResultAddress,
    result: StoredResult,
    options: ResultPutOptions = {},
  ): Promise<ResultOutcome> {
    const first = await records.get(address);
    const served = first && (await isWhole(first)) ? first : undefined;
    const isOther = served !== undefined && !sameOutcome(served, result);
    if (options.asRival) {
      if (!isOther) return 'unchanged';
      onEvent({ type: 'diverged', address });
      await storeRival(address, result);
      return 'diverged';
    }
    if (served && !options.replace) {
      const isBetter = takesPrecedence(decodeResult(result.bytes), decodeResult(served.bytes));
      if (!isOther && !isBetter) return 'unchanged';
      if (isOther) {
        onEvent({ type: 'diverged', address });
        await storeRival(address, isBetter ? served : result);
        if (!isBetter) return 'diverged';
      }
    }
    if (!(await records.put(address, result, first))) return put(address, result, options);
    if (!isOther || !options.replace) return 'stored';
    onEvent({ type: 'replaced', address });
    return 'replaced';
  }

  async function storeRival(address: ResultAddress, result: StoredResult): Promise<void> {
    const rival = rivalAddress(address);
    let isKept = false;
    while (!isKept) isKept = await records.put(rival, result, await records.get(rival));
  }

  async function isWhole(result: StoredResult): Promise<boolean> {
    return (await blobs.missing(result.references)).length === 0;
  }

  return {
    get: (address, inSameView) => records.get(address, inSameView),
    use: (address, result) => records.markUsed(address, result),
    put,
    replace: (address, result, replacing) => records.put(address, result, replacing),
  };
}

const RIVALS = '!diverged/';

/** Each key keeps one rival, the newest. No client can name its address: a namespace contains no "!". */
export function rivalAddress({ namespace, key }: ResultAddress): ResultAddress {
  return { namespace: `${RIVALS}${namespace}` as Namespace, key };
}

/** Of a rival's address: the address of the first result. Undefined for any other address. */
export function divergedFrom({ namespace, key }: ResultAddress): ResultAddress | undefined {
  const original = namespace.startsWith(RIVALS) ? storedNamespace(namespace.slice(RIVALS.length)) : undefined;
  return original === undefined ? undefined : { namespace: original, key };
}

function sameOutcome(first: StoredResult, second: StoredResult): boolean {
  return Buffer.compare(outcomeOfStored(first), outcomeOfStored(second)) === 0;
}

function outcomeOfStored({ bytes }: StoredResult): Uint8Array {
  return deterministicPart(decodeResult(bytes));
}
