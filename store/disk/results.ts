// The result records of the disk engine: each checked against its own checksum whenever it is read, because it is small
// and nothing else would notice. One that fails is dropped, which makes it a miss.
import type { OnStoreEvent } from '../events.ts';
import type { ResultAddress, ResultRecords, StoredResult } from '../store.ts';
import type { Index } from './index.ts';
import { decodeResult, encodeResult } from './record.ts';

export class DiskResults implements ResultRecords {
  readonly #index: Index;
  readonly #onEvent: OnStoreEvent;

  constructor(index: Index, onEvent: OnStoreEvent) {
    this.#index = index;
    this.#onEvent = onEvent;
  }

  async get(address: ResultAddress): Promise<StoredResult | undefined> {
    this.#index.refresh();
    const entry = this.#index.result(address);
    if (!entry) return undefined;
    const result = decodeResult(entry.record);
    if (!result && (await this.#index.removeResult(address, entry.generation))) {
      this.#onEvent({ type: 'result-dropped', address, detail: 'its record fails its checksum' });
    }
    return result;
  }

  async put(
    address: ResultAddress,
    result: StoredResult,
    replacing: StoredResult | undefined,
  ): Promise<boolean> {
    this.#index.refresh();
    const entry = this.#index.result(address);
    const current = entry && decodeResult(entry.record);
    if (!isSame(current, replacing)) return false;
    return this.#index.replaceResult(address, encodeResult(result), entry?.generation);
  }
}

function isSame(a: StoredResult | undefined, b: StoredResult | undefined): boolean {
  return a && b ? a.bytes.equals(b.bytes) : a === b;
}
