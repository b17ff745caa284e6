// Records of results that were read and found right. One that many ask for is not checked and taken apart again for each:
// what was read now is compared with what was found right then, byte by byte, which proves as much as its checksum and
// costs a fraction of it.
import { HASH_BYTES } from '../../../core/digest.ts';
import { STORE } from '../../limits.ts';
import type { StoredResult } from '../../store.ts';
import { decodeResult } from './records.ts';

interface Seen {
  readonly key: Buffer;
  readonly record: Buffer;
  readonly result: StoredResult;
}

export class SeenResults {
  /** Each key has one place, which it shares with others: the last one that was read is there. */
  readonly #places: Seen[] = [];

  /** Undefined when a bit of it has changed. `key` is that of its row: it ends with the hash of the action. */
  decode(key: Buffer, record: Buffer): StoredResult | undefined {
    const place = key.readUInt32LE(key.length - HASH_BYTES) % STORE.seenResults;
    const seen = this.#places[place];
    if (seen?.record.equals(record) && seen.key.equals(key)) return seen.result;
    const result = decodeResult(key, record);
    if (result && record.length <= STORE.seenResultBytes) this.#places[place] = { key, record, result };
    return result;
  }
}
