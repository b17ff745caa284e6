// Makes a large store: COUNT blobs, and COUNT results that name one blob each. Writes the index directly, because
// the store's own calls would take an hour for ten million. The rows are the same.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { digestOf } from '../../core/digest.ts';
import { DEFAULT_NAMESPACE } from '../../core/namespace.ts';
import { createStore } from '../../store/disk/create.ts';
import { LAYOUT_VERSION, layoutIn } from '../../store/disk/fs/layout.ts';
import {
  ageKeyOf,
  BLOB_AGE,
  contentKeyOf,
  encodePresence,
  encodeResult,
  RESULT_AGE,
  resultKeyOf,
  tenantsOf,
} from '../../store/disk/index/records.ts';
import { Tables } from '../../store/disk/index/tables.ts';

/** LMDB keeps the pages of a commit in a sorted list: ten times as many rows take far more than ten times as long. */
const IN_ONE_COMMIT = 5_000;
const TICK = 1;
const NOTHING = Buffer.alloc(1);
const RESULT = Buffer.from('a result');
const HASH_BYTES = 32;
/** Digests are sorted in this many parts, by their first two bytes. */
const PARTS = 65_536;

export function contentOf(number: number): Buffer {
  return Buffer.from(`a blob of the benchmark, number ${number}`);
}

/** The rows are inserted in key order, so that pages are filled one after the other. */
export async function generate(directory: string, count: number): Promise<void> {
  const layout = layoutIn(join(directory, LAYOUT_VERSION));
  await createStore(layout);
  const tables = new Tables(layout.index, 0);
  const [presence, content] = [tables.table('presence'), tables.table('content')];
  const [results, uses, ages] = [tables.table('results'), tables.table('uses'), tables.table('ages')];
  const numbers = inKeyOrder(count);
  for (let from = 0; from < count; from += IN_ONE_COMMIT) {
    presence.transactionSync(() => {
      for (const number of numbers.subarray(from, from + IN_ONE_COMMIT)) {
        const digest = digestOf(contentOf(number));
        const key = Buffer.from(digest.hash, 'hex');
        const record = encodePresence({
          size: digest.size,
          isFile: false,
          generation: number + 1,
          tick: TICK,
          position: number + 1,
          checksum: undefined,
          tenants: tenantsOf(),
        });
        presence.putSync(key, record, number + 1);
        content.putSync(contentKeyOf(key, number + 1), contentOf(number));
        const address = resultKeyOf({ namespace: DEFAULT_NAMESPACE, key: digest.hash });
        const result = encodeResult(address, { bytes: RESULT, references: [digest] });
        results.putSync(address, result, number + 1);
        uses.putSync(address, NOTHING, TICK);
        ages.putSync(ageKeyOf(RESULT_AGE, TICK, address), NOTHING);
        ages.putSync(ageKeyOf(BLOB_AGE, TICK, contentKeyOf(key, number + 1)), NOTHING);
      }
    });
  }
  await tables.close();
}

/** The numbers of the blobs, by digest. Digests as strings would take gigabytes for ten million blobs. */
function inKeyOrder(count: number): Uint32Array {
  const hashes = Buffer.alloc(count * HASH_BYTES);
  const ends = new Uint32Array(PARTS);
  for (let number = 0; number < count; number++) {
    createHash('sha256')
      .update(contentOf(number))
      .digest()
      .copy(hashes, number * HASH_BYTES);
    const part = hashes.readUInt16BE(number * HASH_BYTES);
    ends[part] = (ends[part] ?? 0) + 1;
  }
  for (let part = 1; part < PARTS; part++) ends[part] = (ends[part] ?? 0) + (ends[part - 1] ?? 0);
  const sorted = new Uint32Array(count);
  const next = Uint32Array.from(ends, (_, part) => (part === 0 ? 0 : (ends[part - 1] ?? 0)));
  for (let number = 0; number < count; number++) {
    const part = hashes.readUInt16BE(number * HASH_BYTES);
    const at = next[part] ?? 0;
    sorted[at] = number;
    next[part] = at + 1;
  }
  const hashAt = (number: number) => hashes.subarray(number * HASH_BYTES, (number + 1) * HASH_BYTES);
  for (const [part, end] of ends.entries())
    sorted.subarray(ends[part - 1] ?? 0, end).sort((a, b) => Buffer.compare(hashAt(a), hashAt(b)));
  return sorted;
}
