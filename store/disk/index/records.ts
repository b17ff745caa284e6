// Encodes and decodes the index records: keys and values. A change here needs a new version of
// docs/FORMAT.md.
import { BinaryDigest, type Digest, HASH_BYTES, type Hash } from '../../../core/digest.ts';
import { type Namespace, storedNamespace } from '../../../core/namespace.ts';
import { sha256 } from '../../../core/sha256.ts';
import type { Expected, LabelAddress, ResultAddress, StoredResult, Writer } from '../../store.ts';

const INLINE = 0;
const FILE = 1;
/** Added to the location if the record ends with the numbers of tenants and their count. */
const HAS_TENANTS = 2;
const PRESENCE_V1_BYTES = 7;
const TICK_BYTES = 4;
const GENERATION_BYTES = 6;
const PRESENCE_V2_BYTES = PRESENCE_V1_BYTES + TICK_BYTES + GENERATION_BYTES;
const POSITION_BYTES = 6;
const PRESENCE_V3_BYTES = PRESENCE_V2_BYTES + POSITION_BYTES;
const SIZE_BYTES = 6;
const COUNT_BYTES = 4;
const CHECKSUM_BYTES = 8;
const PRESENCE_BYTES = PRESENCE_V3_BYTES + CHECKSUM_BYTES;
const REFERENCE_BYTES = HASH_BYTES + SIZE_BYTES;
const TENANT_BYTES = 2;
export const MAX_TENANTS = 2 ** 16 - 1;

/** In place of a tenant's number: the store itself, which sees every blob. */
export const EVERYONE = 0;
/** In place of a tenant's number: a tenant that has none yet, because it never put a blob. */
export const NOBODY = -1;

export interface Presence {
  readonly size: number;
  readonly isFile: boolean;
  /** The tick of the last use that was written; 0 in format version 1. */
  readonly tick: number;
  /** Changes each time the blob is stored again; the file name ends with it. */
  readonly generation: number;
  /**
   * Grows with time, so that content rows that are stored together lie together (docs/decisions/0121). 0 if
   * the content lies under the hash alone, as before version 3.
   */
  readonly position: number;
  /** Of a small blob's bytes, since version 4, if the writer had loaded the checksum. */
  readonly checksum: bigint | undefined;
  /** The numbers of the tenants that have put the blob, as in the record. Since version 5. */
  readonly tenants: Tenants;
}

/** Numbers of two bytes each, in ascending order. */
export type Tenants = Buffer;

export const NO_TENANTS: Tenants = Buffer.alloc(0);

export function tenantsOf(...numbers: readonly number[]): Tenants {
  const tenants = Buffer.alloc(numbers.length * TENANT_BYTES);
  numbers
    .toSorted((a, b) => a - b)
    .forEach((number, index) => {
      tenants.writeUInt16LE(number, index * TENANT_BYTES);
    });
  return tenants;
}

/** EVERYONE changes nothing. */
export function withTenant(tenants: Tenants, tenant: number): Tenants {
  return tenant === EVERYONE ? tenants : tenantsOf(...new Set([tenant, ...numbersIn(tenants)]));
}

export function numbersIn(tenants: Tenants): number[] {
  const count = tenants.length / TENANT_BYTES;
  return Array.from({ length: count }, (_, index) => tenants.readUInt16LE(index * TENANT_BYTES));
}

export function encodePresence(presence: Presence): Buffer {
  const { size, isFile, tick, generation, position, checksum, tenants } = presence;
  const end = lengthOf(presence);
  const record = Buffer.allocUnsafe(end + tailBytes(tenants.length / TENANT_BYTES));
  record[0] = (isFile ? FILE : INLINE) + (tenants.length > 0 ? HAS_TENANTS : 0);
  record.writeUIntLE(size, 1, SIZE_BYTES);
  record.writeUInt32LE(tick, PRESENCE_V1_BYTES);
  record.writeUIntLE(generation, PRESENCE_V1_BYTES + TICK_BYTES, GENERATION_BYTES);
  if (position !== 0) record.writeUIntLE(position, PRESENCE_V2_BYTES, POSITION_BYTES);
  if (checksum !== undefined) record.writeBigUInt64LE(checksum, PRESENCE_V3_BYTES);
  record.set(tenants, end);
  if (tenants.length > 0) record.writeUInt16LE(tenants.length / TENANT_BYTES, end + tenants.length);
  return record;
}

/** Without the tenants. */
function lengthOf({ position, checksum }: Presence): number {
  if (position === 0) return PRESENCE_V2_BYTES;
  return checksum === undefined ? PRESENCE_V3_BYTES : PRESENCE_BYTES;
}

/** The bytes of that many tenants and their count. */
function tailBytes(tenants: number): number {
  return tenants === 0 ? 0 : (tenants + 1) * TENANT_BYTES;
}

/** How many tenants the record ends with. */
function tenantsIn(record: Buffer): number {
  const hasTenants = ((record[0] ?? 0) & HAS_TENANTS) !== 0;
  return hasTenants && record.length > PRESENCE_V2_BYTES
    ? record.readUInt16LE(record.length - TENANT_BYTES)
    : 0;
}

/** No blob has this size: the blob of an unreadable record can't be served. */
const UNREADABLE_SIZE = -1;

/** In version 1 the row's version was the generation, and there were no ticks. */
export function decodePresence(record: Buffer, version: number): Presence {
  const location = record[0] ?? 0;
  const isFile = (location & FILE) !== 0;
  const count = tenantsIn(record);
  const length = record.length - tailBytes(count);
  if (isUsual(location, count, length)) {
    return {
      size: record.readUIntLE(1, SIZE_BYTES),
      isFile,
      tick: record.readUInt32LE(PRESENCE_V1_BYTES),
      generation: record.readUIntLE(PRESENCE_V1_BYTES + TICK_BYTES, GENERATION_BYTES),
      position: length > PRESENCE_V2_BYTES ? record.readUIntLE(PRESENCE_V2_BYTES, POSITION_BYTES) : 0,
      checksum: length > PRESENCE_V3_BYTES ? record.readBigUInt64LE(PRESENCE_V3_BYTES) : undefined,
      tenants: count === 0 ? NO_TENANTS : tenantsFrom(record, length, count),
    };
  }
  const size =
    location <= FILE && record.length === PRESENCE_V1_BYTES
      ? record.readUIntLE(1, SIZE_BYTES)
      : UNREADABLE_SIZE;
  return {
    size,
    isFile: isFile && size !== UNREADABLE_SIZE,
    tick: 0,
    generation: version,
    position: 0,
    checksum: undefined,
    tenants: NO_TENANTS,
  };
}

/** Lists of one tenant, as most blobs have: one object for each instead of one for each lookup. */
const singles = new Map<number, Tenants>();

function singleTenant(number: number): Tenants {
  const known = singles.get(number) ?? tenantsOf(number);
  singles.set(number, known);
  return known;
}

/** A copy: the next read of the index overwrites the record. */
function tenantsFrom(record: Buffer, start: number, count: number): Tenants {
  if (count === 1) return singleTenant(record.readUInt16LE(start));
  return Buffer.from(record.subarray(start, start + count * TENANT_BYTES));
}

/** A record with a tick. `length` is without the tenants. */
function isUsual(location: number, tenants: number, length: number): boolean {
  const isReadable = tenants === 0 ? location <= FILE : location <= FILE + HAS_TENANTS;
  const hasTick = length === PRESENCE_BYTES || length === PRESENCE_V3_BYTES || length === PRESENCE_V2_BYTES;
  return isReadable && hasTick;
}

/**
 * Only the tick. Undefined if the record has another size, or if the tenant has not put the blob, or the holder does
 * not hold it. Decodes nothing else, because builds ask for thousands at once.
 */
export function tickIn(record: Buffer, size: number, tenant: number, holder = EVERYONE): number | undefined {
  const location = record[0] ?? 0;
  const count = location > FILE ? tenantsIn(record) : 0;
  const length = record.length - tailBytes(count);
  if (!isUsual(location, count, length))
    return tenant === EVERYONE && decodePresence(record, 0).size === size ? 0 : undefined;
  if (tenant !== EVERYONE && !includes(record, length, count, tenant)) return undefined;
  if (holder !== EVERYONE && !includes(record, length, count, holder)) return undefined;
  return record.readUIntLE(1, SIZE_BYTES) === size ? record.readUInt32LE(PRESENCE_V1_BYTES) : undefined;
}

/** A binary search: a blob of all tenants has a long list. */
function includes(record: Buffer, start: number, count: number, tenant: number): boolean {
  let [from, to] = [0, count];
  while (from < to) {
    const middle = (from + to) >>> 1;
    const found = record.readUInt16LE(start + middle * TENANT_BYTES);
    if (found === tenant) return true;
    if (found < tenant) from = middle + 1;
    else to = middle;
  }
  return false;
}

/** Whether the tenant has put the blob. */
export function belongsTo({ tenants }: Presence, tenant: number): boolean {
  return tenant === EVERYONE || includes(tenants, 0, tenants.length / TENANT_BYTES, tenant);
}

/** The key of a blob's content; its presence lies under `key`. */
export function contentKeyOf(key: Buffer, position: number): Buffer {
  if (position === 0) return key;
  const bytes = Buffer.allocUnsafe(POSITION_BYTES + key.length);
  bytes.writeUIntBE(position, 0, POSITION_BYTES);
  bytes.set(key, POSITION_BYTES);
  return bytes;
}

/**
 * The key of an age row. It begins with the kind and the tick, so the least recently used entries of a kind
 * come first. `target` is the key of a result, or of a blob's content.
 */
export function ageKeyOf(kind: AgeKind, tick: number, target: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(1 + TICK_BYTES + target.length);
  bytes[0] = kind;
  bytes.writeUInt32BE(tick, 1);
  bytes.set(target, 1 + TICK_BYTES);
  return bytes;
}

export type AgeKind = typeof RESULT_AGE | typeof BLOB_AGE;
export const RESULT_AGE = 1;
export const BLOB_AGE = 2;

export interface Age {
  readonly tick: number;
  readonly target: Buffer;
  /** The key of the entry in its own table. */
  readonly key: Buffer;
}

export function decodeAge(row: Buffer): Age {
  const target = row.subarray(1 + TICK_BYTES);
  const key = row[0] === BLOB_AGE ? target.subarray(-HASH_BYTES) : target;
  return { tick: row.readUInt32BE(1), target, key };
}

/** A namespace contains no NUL, and the hash has a fixed length, so keys are unique. */
export function resultKeyOf({ namespace, key }: ResultAddress): Buffer {
  const bytes = Buffer.allocUnsafe(namespace.length + 1 + HASH_BYTES);
  bytes.write(namespace, 'latin1');
  bytes[namespace.length] = 0;
  bytes.write(key, namespace.length + 1, 'hex');
  return bytes;
}

/**
 * Undefined for a key that is no result's. The namespace may be one that no client can name: a rival's, or one
 * with a flipped bit.
 */
export function resultAddressIn(key: Buffer): ResultAddress | undefined {
  const split = key.length - HASH_BYTES - 1;
  if (split < 0 || key[split] !== 0) return undefined;
  return { namespace: key.toString('latin1', 0, split) as Namespace, key: hashAt(key, split + 1) };
}

/**
 * Begins with the SHA-256 of the key and the rest: no digest outside the record covers it. The key is
 * included since version 4, so that no flipped bit can move a result to another key.
 */
export function encodeResult(key: Buffer, { bytes, references, writer }: StoredResult): Buffer {
  const written = writer && encodeWriter(writer);
  const named = references.length * REFERENCE_BYTES;
  const record = Buffer.allocUnsafe(HASH_BYTES + COUNT_BYTES + named + (written?.length ?? 0) + bytes.length);
  const flags = COVERS_KEY + (written ? HAS_WRITER : 0);
  let at = record.writeUInt32LE(references.length + flags, HASH_BYTES);
  for (const digest of references) {
    if (digest instanceof BinaryDigest) digest.copyHash(record, at);
    else record.write(digest.hash, at, 'hex');
    at = record.writeUIntLE(digest.size, at + HASH_BYTES, SIZE_BYTES);
  }
  if (written) at += written.copy(record, at);
  record.set(bytes, at);
  record.write(checksumOf(key, record), 0, 'hex');
  return record;
}

/** Added to the count of references if the SHA-256 covers the key. */
const COVERS_KEY = 2 ** 31;
/** Added to the count of references if the writer follows them. Since version 5. */
const HAS_WRITER = 2 ** 30;

/** Undefined if a bit has changed. The result shares the record's memory. */
export function decodeResultRecord(key: Buffer, record: Buffer): StoredResult | undefined {
  if (record.length < HASH_BYTES + COUNT_BYTES) return undefined;
  const count = record.readUInt32LE(HASH_BYTES);
  const coversKey = count >= COVERS_KEY;
  const checksum = checksumOf(coversKey ? key : undefined, record);
  if (checksum !== record.toString('hex', 0, HASH_BYTES)) return undefined;
  const hasWriter = (count & HAS_WRITER) !== 0;
  const end = HASH_BYTES + COUNT_BYTES + (count % HAS_WRITER) * REFERENCE_BYTES;
  const references: Digest[] = [];
  for (let at = HASH_BYTES + COUNT_BYTES; at < end; at += REFERENCE_BYTES) {
    references.push(new BinaryDigest(record, at, record.readUIntLE(at + HASH_BYTES, SIZE_BYTES)));
  }
  if (!hasWriter) return { bytes: record.subarray(end), references, checksum };
  const { writer, length } = decodeWriter(record.subarray(end));
  return { bytes: record.subarray(end + length), references, writer, checksum };
}

const TIME_BYTES = 6;
const LENGTH_BYTES = 2;
const MAX_TEXT_BYTES = 2 ** 16 - 1;

/** The time, and each text after its length. */
function encodeWriter({ name, from, via, at }: Writer): Buffer {
  const texts = [name, from, via].map((text) => Buffer.from(text).subarray(0, MAX_TEXT_BYTES));
  const bytes = texts.reduce((sum, { length }) => sum + LENGTH_BYTES + length, TIME_BYTES);
  const record = Buffer.allocUnsafe(bytes);
  let end = record.writeUIntLE(at, 0, TIME_BYTES);
  for (const text of texts) {
    end = record.writeUInt16LE(text.length, end);
    end += text.copy(record, end);
  }
  return record;
}

function decodeWriter(record: Buffer): { readonly writer: Writer; readonly length: number } {
  let end = TIME_BYTES;
  const next = () => {
    const start = end + LENGTH_BYTES;
    end = start + record.readUInt16LE(end);
    return record.toString('utf8', start, end);
  };
  const at = record.readUIntLE(0, TIME_BYTES);
  const [name, from, via] = [next(), next(), next()];
  return { writer: { name, from, via, at }, length: end };
}

function checksumOf(key: Buffer | undefined, record: Buffer): string {
  const rest = record.subarray(HASH_BYTES);
  return sha256(key ? Buffer.concat([key, rest]) : rest);
}

/** Any 32 bytes in hex are a Hash; this runs too often to match a pattern. */
function hashAt(record: Buffer, at: number): Hash {
  return record.toString('hex', at, at + HASH_BYTES) as Hash;
}

/** Unique and sorted by label: UTF-8 labels contain no NUL. */
export function labelKeyOf({ namespace, label }: LabelAddress): Buffer {
  return Buffer.from(`${namespace}\0${label}`);
}

/** Undefined for a row that is not a label's. */
export function labelAddressOf(key: Buffer): LabelAddress | undefined {
  const split = key.indexOf(0);
  const namespace = split === -1 ? undefined : storedNamespace(key.toString('latin1', 0, split));
  return namespace === undefined ? undefined : { namespace, label: key.toString('utf8', split + 1) };
}

/** The hash of the result, and a checksum of the label's key and that hash. */
export function encodeLabel(labelKey: Buffer, result: Hash): Buffer {
  const record = Buffer.allocUnsafe(HASH_BYTES + CHECKSUM_BYTES);
  record.write(result, 'hex');
  labelChecksum(labelKey, record).copy(record, HASH_BYTES);
  return record;
}

/** Undefined if a bit of it or of its key has changed. Before version 4 there was no checksum. */
export function decodeLabel(labelKey: Buffer, record: Buffer): Hash | undefined {
  const isRight =
    record.length === HASH_BYTES || labelChecksum(labelKey, record).equals(record.subarray(HASH_BYTES));
  return isRight ? hashAt(record, 0) : undefined;
}

function labelChecksum(labelKey: Buffer, record: Buffer): Buffer {
  const covered = Buffer.concat([labelKey, record.subarray(0, HASH_BYTES)]);
  return Buffer.from(sha256(covered).slice(0, 2 * CHECKSUM_BYTES), 'hex');
}

/** The key of a tenant's number, in the table `state`. */
export function tenantKeyOf(name: string): Buffer {
  return Buffer.from(`number ${name}`);
}

/**
 * Followed by a checksum of the key and the number, so that no flipped bit gives a tenant the blobs of another.
 */
export function encodeTenantNumber(key: Buffer, number: number): Buffer {
  const record = Buffer.allocUnsafe(TENANT_BYTES);
  record.writeUInt16LE(number);
  return Buffer.concat([record, tenantChecksum(key, record)]);
}

/** Undefined if a bit of it or of its key has changed. */
export function decodeTenantNumber(key: Buffer, record: Buffer): number | undefined {
  const number = record.subarray(0, TENANT_BYTES);
  const isRight = tenantChecksum(key, number).equals(record.subarray(TENANT_BYTES));
  return isRight ? number.readUInt16LE() : undefined;
}

function tenantChecksum(key: Buffer, number: Buffer): Buffer {
  return Buffer.from(sha256(Buffer.concat([key, number])).slice(0, 2 * CHECKSUM_BYTES), 'hex');
}

export interface UploadRecord {
  readonly expected: Expected;
  /** The durable bytes in its file. */
  readonly committed: number;
  /** The number of the holder that sends it. EVERYONE without accounts. */
  readonly holder: number;
  /** True only in records of finished uploads, which Assay 0.1 kept. */
  readonly isFinished: boolean;
}

const KNOWS_HASH = 1;
const KNOWS_SIZE = 2;
const IS_FINISHED = 4;

const UPLOAD_BYTES = 1 + 2 * SIZE_BYTES + HASH_BYTES;

export function encodeUpload({ expected, committed, holder }: Omit<UploadRecord, 'isFinished'>): Buffer {
  const record = Buffer.alloc(UPLOAD_BYTES + (holder === EVERYONE ? 0 : TENANT_BYTES));
  const { hash, size } = expected;
  record[0] = (hash === undefined ? 0 : KNOWS_HASH) | (size === undefined ? 0 : KNOWS_SIZE);
  record.writeUIntLE(committed, 1, SIZE_BYTES);
  record.writeUIntLE(size ?? 0, 1 + SIZE_BYTES, SIZE_BYTES);
  record.write(hash ?? '', 1 + 2 * SIZE_BYTES, 'hex');
  if (holder !== EVERYONE) record.writeUInt16LE(holder, UPLOAD_BYTES);
  return record;
}

export function decodeUpload(record: Buffer): UploadRecord {
  const flags = record.readUInt8(0);
  const hash = hashAt(record, 1 + 2 * SIZE_BYTES);
  return {
    expected: {
      hash: flags & KNOWS_HASH ? hash : undefined,
      size: flags & KNOWS_SIZE ? record.readUIntLE(1 + SIZE_BYTES, SIZE_BYTES) : undefined,
    },
    committed: record.readUIntLE(1, SIZE_BYTES),
    holder: record.length > UPLOAD_BYTES ? record.readUInt16LE(UPLOAD_BYTES) : EVERYONE,
    isFinished: (flags & IS_FINISHED) !== 0,
  };
}
