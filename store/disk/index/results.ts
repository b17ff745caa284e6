// The result records of the disk engine. Each is checked on every read, because no other check covers it.
// A record that fails is removed, which makes it a miss.

import { isDeepStrictEqual } from 'node:util';
import type { Digest } from '../../../core/digest.ts';
import type { OnStoreEvent } from '../../events.ts';
import { TURN } from '../../limits.ts';
import type { RecordsPage, ResultAddress, ResultRecords, StoredResult } from '../../store.ts';
import type { Index } from './index.ts';
import type { Leases } from './leases.ts';
import { decodeResultRecord, encodeResult, resultAddressIn, resultKeyOf } from './records.ts';
import { ResultMemo } from './result-memo.ts';
import { rowsFrom } from './tables.ts';

const FIRST = Buffer.alloc(1);

/** The holders of the blobs that a result names (A1 of accounts.ts). */
export interface Holders {
  /** The holder of a namespace. EVERYONE without accounts: then everything is held. */
  numberOf(namespace: string): number;
  /** Gives the blobs to the holder of the namespace. */
  hold(namespace: string, references: readonly Digest[]): Promise<void>;
}

export class DiskResults implements ResultRecords {
  readonly #index: Index;
  readonly #leases: Leases;
  readonly #onEvent: OnStoreEvent;
  readonly #holders: Holders;
  readonly #memo = new ResultMemo();

  constructor(index: Index, leases: Leases, onEvent: OnStoreEvent, holders: Holders) {
    this.#index = index;
    this.#leases = leases;
    this.#onEvent = onEvent;
    this.#holders = holders;
  }

  async get(address: ResultAddress, inSameView = false): Promise<StoredResult | undefined> {
    // In a view that is a moment old, a result that another process has removed would still be a hit.
    if (!inSameView) this.#index.refresh();
    const key = resultKeyOf(address);
    const entry = this.#index.result(key);
    if (!entry) return undefined;
    const result = this.#memo.decode(key, entry.record);
    if (!result && (await this.#index.removeResult(address, entry.generation))) {
      this.#onEvent({ type: 'result-dropped', address, detail: 'its record fails its checksum' });
    }
    return result;
  }

  /** In the current read view: the commit finds out whether that is still true (I3). */
  async put(
    address: ResultAddress,
    result: StoredResult,
    replacing: StoredResult | undefined,
  ): Promise<boolean> {
    const key = resultKeyOf(address);
    const entry = this.#index.result(key);
    const current = entry && decodeResultRecord(key, entry.record);
    if (!isSame(current, replacing)) return false;
    const tick = await this.#keepReferences(address, result);
    return this.#index.replaceResult(key, encodeResult(key, result), entry?.generation, tick);
  }

  /**
   * Keeps L4: a result's tick is never later than that of a blob that it names. So once all results up to a
   * tick are gone, no result names a blob of that tick.
   */
  async markUsed(address: ResultAddress, result: StoredResult): Promise<void> {
    const key = resultKeyOf(address);
    if (this.#index.resultTick(key) >= this.#leases.clock.freshResult()) return;
    // A blob that was lost and sent again has only its new holder.
    const tick = await this.#keepReferences(address, result);
    this.#index.refresh();
    const entry = this.#index.result(key);
    if (entry) await this.#index.stampResult(key, entry.generation, tick);
  }

  async after(position: string | undefined): Promise<RecordsPage> {
    this.#index.refresh();
    const start = position === undefined ? FIRST : Buffer.from(position, 'hex');
    const table = this.#index.tables.table('results');
    const rows = rowsFrom(table, start, undefined, position !== undefined, TURN.results);
    const records = rows.flatMap(({ key, value }) => {
      const address = resultAddressIn(key);
      const result = address && decodeResultRecord(key, value);
      return result ? { address, result } : [];
    });
    return { records, position: rows.at(-1)?.key.toString('hex') };
  }

  async remove(address: ResultAddress, seen: StoredResult): Promise<boolean> {
    this.#index.refresh();
    const key = resultKeyOf(address);
    const entry = this.#index.result(key);
    const current = entry && decodeResultRecord(key, entry.record);
    if (!entry || !isSame(current, seen) || !isDeepStrictEqual(current?.writer, seen.writer)) return false;
    return this.#index.removeResult(address, entry.generation);
  }

  /**
   * Leases them, and gives them to the holder of the result's namespace. Resolves to the oldest tick of them. The
   * completeness layer has just asked for them, so most are fresh.
   */
  async #keepReferences({ namespace }: ResultAddress, { references }: StoredResult): Promise<number> {
    const found = this.#leases.oldestIfFresh(references, this.#holders.numberOf(namespace));
    if (found?.isHeld) return found.tick;
    const tick = found?.tick ?? (await this.#leases.renew(references.map(({ hash }) => hash)));
    await this.#holders.hold(namespace, references);
    return tick;
  }
}

function isSame(a: StoredResult | undefined, b: StoredResult | undefined): boolean {
  return a && b ? a.bytes.equals(b.bytes) : a === b;
}
