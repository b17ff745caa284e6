// Records of results that were read and found right. One that many ask for is not checked and taken apart again for each:
// what was read now is compared with what was found right then, byte by byte, which proves as much as its checksum and
// costs a fraction of it.
import { HASH_BYTES } from '../../../core/digest.ts';
import { STORE } from '../../limits.ts';
import type { StoredResult } from '../../store.ts';
import { decodeResult } from './records.ts';

interface Memoized {
  readonly key: Buffer;
  readonly record: Buffer;
  readonly result: StoredResult;
}

export class ResultMemo {
  /** Each key has one place, which it shares with others: the last one that was read is there. */
  readonly #slots: Memoized[] = [];

  /** Undefined when a bit of it has changed. `key` is that of its row: it ends with the hash of the action. */
  decode(key: Buffer, record: Buffer): StoredResult | undefined {
    const slot = key.readUInt32LE(key.length - HASH_BYTES) % STORE.memoResults;
    const memoized = this.#slots[slot];
    if (memoized?.record.equals(record) && memoized.key.equals(key)) return memoized.result;
    const result = decodeResult(key, record);
    if (result && record.length <= STORE.memoResultBytes) this.#slots[slot] = { key, record, result };
    return result;
  }
}
