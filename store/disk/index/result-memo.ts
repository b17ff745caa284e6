// A memo of result records that passed their check. A record that equals the memo byte by byte is valid, and
// needs no checksum and no decoding. The comparison proves as much as the checksum and costs far less.
import { HASH_BYTES } from '../../../core/digest.ts';
import { STORE } from '../../limits.ts';
import type { StoredResult } from '../../store.ts';
import { decodeResultRecord } from './records.ts';

interface Memoized {
  readonly key: Buffer;
  readonly record: Buffer;
  readonly result: StoredResult;
}

export class ResultMemo {
  /** Each key maps to one slot, which holds the last record that was read there. */
  readonly #slots: Memoized[] = [];

  /** Undefined if a bit has changed. `key` is the row's key, which ends with the action's hash. */
  decode(key: Buffer, record: Buffer): StoredResult | undefined {
    const slot = key.readUInt32LE(key.length - HASH_BYTES) % STORE.memoResults;
    const memoized = this.#slots[slot];
    if (memoized?.record.equals(record) && memoized.key.equals(key)) return memoized.result;
    const result = decodeResultRecord(key, record);
    if (result && record.length <= STORE.memoResultBytes) this.#slots[slot] = { key, record, result };
    return result;
  }
}
