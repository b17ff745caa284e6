// The record of one list: a result that names no blobs and holds the digests of the path sets, the most
// recently used first.
// The blobs are not named as outputs: then the whole list would be a miss as soon as one of them is gone.
import { type Digest, type Hash, parseHash } from '../../../core/digest.ts';
import { decodeStrict } from '../../../core/message.ts';
import { type Namespace, protocolNamespace } from '../../../core/namespace.ts';
import { PathSetIndex } from '../../../core/proto/generated/assay.ts';
import { ActionResult, ExecutedActionMetadata } from '../../../core/proto/generated/reapi.ts';
import { PATH_SET_INDEX } from '../../../core/proto/request-shapes.ts';
import { decodeResult, emptyResult } from '../../../core/result.ts';
import type { ResultAddress } from '../../../store/store.ts';

/** `id`: equal for two sets that lead to the same results (pathSetId of core/path-set.ts). */
export interface ListEntry {
  readonly id: Hash;
  readonly set: Digest;
  /** The key of the result for the states that the set records. Undefined in records of older versions. */
  readonly result?: Hash | undefined;
}

const INDEX_TYPE = 'type.googleapis.com/assay.v1.PathSetIndex';
const NOTHING = new Uint8Array(0);

/** No client can address the record itself: parseNamespace refuses "~". */
export function listAddress(namespace: Namespace, key: Hash): ResultAddress {
  return { namespace: protocolNamespace('path-sets', namespace), key };
}

export function encodeList(entries: readonly ListEntry[]): Uint8Array {
  const index = entries.map(({ id, set: { hash, size }, result = '' }) => ({
    id: Buffer.from(id, 'hex'),
    hash: Buffer.from(hash, 'hex'),
    size,
    result: Buffer.from(result, 'hex'),
  }));
  const value = Buffer.from(PathSetIndex.encode({ entries: index }).finish());
  return ActionResult.encode({
    ...emptyResult(0),
    executionMetadata: {
      ...ExecutedActionMetadata.decode(NOTHING),
      auxiliaryMetadata: [{ typeUrl: INDEX_TYPE, value }],
    },
  }).finish();
}

/** Empty if there is no record. */
export function decodeList(record: Uint8Array | undefined): ListEntry[] {
  if (!record) return [];
  const metadata = decodeResult(record).executionMetadata?.auxiliaryMetadata ?? [];
  const value = metadata.find(({ typeUrl }) => typeUrl === INDEX_TYPE)?.value ?? NOTHING;
  const { entries } = decodeStrict(PathSetIndex, PATH_SET_INDEX, value, 'not a list of path sets');
  return entries.map(({ id, hash, size, result }) => ({
    id: parseHash(id.toString('hex')),
    set: { hash: parseHash(hash.toString('hex')), size },
    result: result.length === 0 ? undefined : parseHash(result.toString('hex')),
  }));
}

/** The entry first, and no other entry with its id. Undefined if the list has it there already. */
export function withFirst(
  entries: readonly ListEntry[],
  entry: ListEntry,
  maxEntries: number,
): ListEntry[] | undefined {
  const [first] = entries;
  const isSame = first?.id === entry.id && first.set.hash === entry.set.hash && first.result === entry.result;
  if (isSame) return undefined;
  return [entry, ...entries.filter(({ id }) => id !== entry.id)].slice(0, maxEntries);
}
