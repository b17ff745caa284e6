// The result records of the disk engine. Each is checked on every read, because no other check covers it.
// A record that fails is removed, which makes it a miss.
import type { OnStoreEvent } from '../../events.ts';
import type { ResultAddress, ResultRecords, StoredResult } from '../../store.ts';
import type { Index, ResultEntry } from './index.ts';
import type { Leases } from './leases.ts';
import { decodeResult, encodeResult, resultKeyOf } from './records.ts';
import { ResultMemo } from './result-memo.ts';

export class DiskResults implements ResultRecords {
  readonly #index: Index;
  readonly #leases: Leases;
  readonly #onEvent: OnStoreEvent;
  readonly #memo = new ResultMemo();

  constructor(index: Index, leases: Leases, onEvent: OnStoreEvent) {
    this.#index = index;
    this.#leases = leases;
    this.#onEvent = onEvent;
  }

  async get(address: ResultAddress): Promise<StoredResult | undefined> {
    const entry = this.#find(address);
    if (!entry) return undefined;
    const result = this.#memo.decode(resultKeyOf(address), entry.record);
    if (!result && (await this.#index.removeResult(address, entry.generation))) {
      this.#onEvent({ type: 'result-dropped', address, detail: 'its record fails its checksum' });
    }
    return result;
  }

  /** A result in the current read view will do. If there is none, the view is refreshed. */
  #find(address: ResultAddress): ResultEntry | undefined {
    const entry = this.#index.result(address);
    if (entry) return entry;
    this.#index.refresh();
    return this.#index.result(address);
  }

  async put(
    address: ResultAddress,
    result: StoredResult,
    replacing: StoredResult | undefined,
  ): Promise<boolean> {
    this.#index.refresh();
    const entry = this.#index.result(address);
    const key = resultKeyOf(address);
    const current = entry && decodeResult(key, entry.record);
    if (!isSame(current, replacing)) return false;
    const tick = await this.#leaseReferences(result);
    return this.#index.replaceResult(address, encodeResult(key, result), entry?.generation, tick);
  }

  /**
   * Keeps L4: a result's tick is never later than that of a blob that it names. So once all results up to a
   * tick are gone, no result names a blob of that tick.
   */
  async markUsed(address: ResultAddress, result: StoredResult): Promise<void> {
    const key = resultKeyOf(address);
    if (this.#index.resultTick(key) >= this.#leases.clock.freshResult()) return;
    const tick = await this.#leaseReferences(result);
    this.#index.refresh();
    const entry = this.#index.result(address);
    if (entry) await this.#index.stampResult(key, entry.generation, tick);
  }

  #leaseReferences({ references }: StoredResult): Promise<number> {
    return this.#leases.renew(references.map(({ hash }) => hash));
  }
}

function isSame(a: StoredResult | undefined, b: StoredResult | undefined): boolean {
  return a && b ? a.bytes.equals(b.bytes) : a === b;
}
