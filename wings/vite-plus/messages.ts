// The CBOR messages of the protocol. A message from outside becomes one only here.
// Guarantee: a message has exactly the fields that the protocol names, each once. One with other fields has a meaning that
// this server does not know, so it is refused.
import { decode, encode } from 'cborg';
import { AssayError, messageOf } from '../../core/errors.ts';

export interface TaskKeys {
  readonly key: Uint8Array;
  /** Of the task. Each new entry of the task replaces the one that this key leads to. */
  readonly secondaryKey: Uint8Array;
}

export interface Metadata extends TaskKeys {
  readonly value: Uint8Array;
}

export function parseTaskKeys(bytes: Uint8Array): TaskKeys {
  const field = fieldsOf(bytes, ['key', 'secondary_key']);
  return { key: field('key'), secondaryKey: field('secondary_key') };
}

export function parseMetadata(bytes: Uint8Array): Metadata {
  const field = fieldsOf(bytes, ['key', 'secondary_key', 'value']);
  return { key: field('key'), secondaryKey: field('secondary_key'), value: field('value') };
}

export interface TaskEntry {
  readonly value: Uint8Array;
  /** Null: the task has no outputs. */
  readonly blobId: string | null;
}

/** `key`: the key of the entry that the secondary key led to. */
export function encodeEntry({ value, blobId }: TaskEntry, key?: Uint8Array): Buffer {
  const found = key === undefined ? { kind: 'exact' } : { kind: 'fallback', key };
  return Buffer.from(encode({ ...found, value, blob_id: blobId }));
}

export function encodeStored(blobId: string | null): Buffer {
  return Buffer.from(encode({ blob_id: blobId }));
}

function fieldsOf(bytes: Uint8Array, names: readonly string[]): (name: string) => Uint8Array {
  const map = decoded(bytes);
  const isMessage = map instanceof Map && map.size === names.length;
  if (!isMessage) throw badMessage(`it is a map of ${names.join(', ')}`);
  return (name) => {
    const value: unknown = map.get(name);
    if (value instanceof Uint8Array) return value;
    throw badMessage(`${name} is a byte string`);
  };
}

function decoded(bytes: Uint8Array): unknown {
  try {
    return decode(bytes, { useMaps: true, rejectDuplicateMapKeys: true });
  } catch (error) {
    throw badMessage(messageOf(error));
  }
}

function badMessage(why: string): AssayError {
  return new AssayError('ASSAY_BAD_MESSAGE', `not a CBOR message of this protocol: ${why.slice(0, 200)}`);
}
