// Records of results that were read and found right. One that many ask for is not checked and taken apart again for each:
// what was read now is compared with what was found right then, byte by byte, which proves as much as its checksum and
// costs a fraction of it.
import type { Hash } from '../../core/digest.ts';
import { STORE } from '../../core/limits.ts';
import type { StoredResult } from '../store.ts';
import { decodeResult } from './record.ts';

interface Seen {
  readonly record: Buffer;
  readonly result: StoredResult;
}

/** Enough of a key for any number of places that STORE could name. */
const HEX_DIGITS = 8;

export class SeenResults {
  /** Each key has one place, which it shares with others: the last one that was read is there. */
  readonly #places: Seen[] = [];

  /** Undefined when a bit of it has changed. */
  decode(key: Hash, record: Buffer): StoredResult | undefined {
    const place = Number.parseInt(key.slice(0, HEX_DIGITS), 16) % STORE.seenResults;
    const seen = this.#places[place];
    if (seen?.record.equals(record)) return seen.result;
    const result = decodeResult(record);
    if (result && record.length <= STORE.seenResultBytes) this.#places[place] = { record, result };
    return result;
  }
}
