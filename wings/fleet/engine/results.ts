// The result records of the fleet engine. Each is checked on every read, because no other check covers it. A
// record that fails is removed, which makes it a miss.
//
// Invariants:
// S1 `get` reads the record and the presence of all that it names in one statement. The digests that it returns
//    carry that presence, so a hit whose leases are fresh costs one round trip.
// S2 A record is written only while every blob that it names is leased with a margin: the statement counts them.
// S3 A record is replaced or removed only if it is still the one that was read: each write gives it a new id.

import { isDeepStrictEqual } from 'node:util';
import { type Digest, EMPTY, type Hash } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import type { Namespace } from '../../../core/namespace.ts';
import { sha256 } from '../../../core/sha256.ts';
import type { OnStoreEvent } from '../../../store/events.ts';
import { TURN } from '../../../store/limits.ts';
import type {
  RecordsPage,
  ResultAddress,
  ResultRecords,
  StoredResult,
  Writer,
} from '../../../store/store.ts';
import type { FleetAccounts } from './accounts/accounts.ts';
import { hold } from './accounts/holding.ts';
import type { AcknowledgedPuts } from './acknowledged-puts.ts';
import { type Database, hashArray, numberArray, type Statement } from './index/database.ts';
import { holdersOfResult, lacksHolder, resultInIndex, takenOut } from './index/held-bytes.ts';
import { FRESH_TICKS } from './index/logical-clock.ts';
import { type BlobPresence, SeenDigest } from './presence.ts';
import type { FleetSpace } from './space.ts';

export const RESULT_COLUMNS = 'r.id, r.bytes, r.hashes, r.sizes, r.writer, r.checksum';

/**
 * `seen`: each blob that it names, if it is present and fresh: its hash, size and tenants (`decodeSeen`), in no order.
 * Nothing is sorted and no text is made, because that took as long as the rest of the statement (MEASUREMENTS, 0305).
 */
const GET: Statement = {
  name: 'result get',
  text: `
    SELECT ${RESULT_COLUMNS},
      (SELECT u.tick > c.tick - ${FRESH_TICKS} FROM assay.result_use u WHERE u.id = r.id) AS "isFresh",
      ARRAY(
        SELECT p.hash || int8send(p.size) || array_send(p.tenants) FROM assay.presence p
        WHERE p.hash = ANY (r.hashes) AND p.tick > c.tick - ${FRESH_TICKS}
      ) AS seen
    FROM assay.clock c, assay.result r WHERE r.namespace = $1 AND r.key = $2`,
};

/**
 * The margin is a window: a stamp that was fresh when it was renewed may have aged by that much. `lacking`: whether
 * the list of a blob lacks the holder of the result. Without accounts there is none.
 */
const heldAnd = (lacking: string) => `
  SELECT count(*) AS n, ${lacking} AS lacking FROM assay.presence p, c
  WHERE p.hash = ANY ($4::bytea[]) AND p.tick > c.tick - ${2 * FRESH_TICKS}`;

const NOT_LACKING = 'false';
const LACKING = (own: string, rest: string) =>
  `coalesce(bool_or(${lacksHolder('p.tenants', own, rest)}), false)`;
const NEW_ROW = '(namespace, key, bytes, hashes, sizes, writer, checksum, id, age, holder)';
const WRITTEN = `
  SELECT held.n = $8 AS "isHeld", held.lacking AS "isLacking", EXISTS (SELECT FROM stored) AS "isStored" FROM held`;

/** `$8`: how many different blobs the result names. */
const adding = (name: string, holder: string, lacking: string): Statement => ({
  name,
  text: `
    WITH c AS (SELECT tick FROM assay.clock), held AS (${heldAnd(lacking)}),
      stored AS (
        INSERT INTO assay.result ${NEW_ROW}
        SELECT $1, $2, $3, $4::bytea[], $5::int8[], $6, $7, nextval('assay.generation'), c.tick, ${holder}
        FROM c, held WHERE held.n = $8 AND NOT held.lacking
        ON CONFLICT DO NOTHING RETURNING id
      ),
      used AS (INSERT INTO assay.result_use SELECT id, c.tick FROM stored, c)
    ${WRITTEN}`,
});
const ADD = adding('result add', 'NULL', NOT_LACKING);
const ADD_HELD = adding('result add held', '$9::int', LACKING('$9::int', '$10::int'));

const replacement = (name: string, holder: string, lacking: string): Statement => ({
  name,
  text: `
    WITH c AS (SELECT tick FROM assay.clock), held AS (${heldAnd(lacking)}),
      old AS (
        SELECT r.id, ${resultInIndex('r')} AS index, 0 AS bucket, r.age AS was, ${holdersOfResult('r')} AS holders
        FROM assay.result r
        WHERE r.namespace = $1 AND r.key = $2 AND r.id = $9 FOR UPDATE
      ),
      stored AS (
        UPDATE assay.result r SET bytes = $3, hashes = $4::bytea[], sizes = $5::int8[], writer = $6,
          checksum = $7, id = nextval('assay.generation'), age = c.tick, holder = ${holder}
        FROM c, held, old WHERE held.n = $8 AND NOT held.lacking
          AND r.namespace = $1 AND r.key = $2 AND r.id = old.id RETURNING r.id
      ),
      left_behind AS (
        SELECT old.index, old.bucket, old.was, c.tick AS stays, old.holders FROM old, stored, c
      ),
      uncounted AS (${takenOut('left_behind')}),
      unused AS (DELETE FROM assay.result_use u USING stored WHERE u.id = $9),
      used AS (INSERT INTO assay.result_use SELECT id, c.tick FROM stored, c)
    ${WRITTEN}`,
});
const REPLACE = replacement('result replace', 'NULL', NOT_LACKING);
const REPLACE_HELD = replacement('result replace held', '$10::int', LACKING('$10::int', '$11::int'));

const REMOVE: Statement = {
  name: 'result remove',
  text: `
    WITH gone AS (
        DELETE FROM assay.result r WHERE namespace = $1 AND key = $2 AND id = $3
        RETURNING id, 0 AS bucket, ${resultInIndex('r')} AS index, age AS was, NULL::int8 AS stays,
          ${holdersOfResult('r')} AS holders
      ),
      uncounted AS (${takenOut('gone')}),
      unused AS (DELETE FROM assay.result_use u USING gone WHERE u.id = gone.id)
    SELECT id FROM gone`,
};

const USE: Statement = {
  name: 'result use',
  text: `
    UPDATE assay.result_use u SET tick = c.tick FROM assay.clock c
    WHERE u.id = $1 AND u.tick <= c.tick - ${FRESH_TICKS}`,
};

const PAGE: Statement = {
  name: 'result page',
  text: `
    SELECT r.namespace, r.key, ${RESULT_COLUMNS} FROM assay.result r
    WHERE (r.namespace, r.key) > ($1, $2) ORDER BY r.namespace, r.key LIMIT ${TURN.results}`,
};

/** Roughly what a result takes besides its message. */
const RESULT_ROW_BYTES = 500;

export interface ResultRow {
  readonly id: number;
  readonly bytes: Buffer;
  readonly hashes: Hash[];
  readonly sizes: number[];
  readonly writer: string | null;
  readonly checksum: Buffer;
}

interface FoundRow extends ResultRow {
  readonly isFresh: boolean | null;
  readonly seen: string[];
}

/** `isHeld`: every blob that the result names is leased. `isLacking`: one of them lacks the result's holder. */
interface Written {
  readonly isHeld: boolean;
  readonly isLacking: boolean;
  readonly isStored: boolean;
}

interface PageRow extends ResultRow {
  readonly namespace: Namespace;
  readonly key: Buffer;
}

interface FleetResultsParts {
  readonly database: Database;
  readonly presence: BlobPresence;
  readonly acknowledged: AcknowledgedPuts;
  readonly space: FleetSpace;
  readonly accounts: FleetAccounts;
  readonly now: () => number;
  readonly onEvent: OnStoreEvent;
}

export class FleetResults implements ResultRecords {
  readonly #database: Database;
  readonly #presence: BlobPresence;
  readonly #acknowledged: AcknowledgedPuts;
  readonly #space: FleetSpace;
  readonly #accounts: FleetAccounts;
  readonly #now: () => number;
  readonly #onEvent: OnStoreEvent;
  /** Of each result that `get` returned: its id, and whether its stamp was fresh. */
  readonly #found = new WeakMap<StoredResult, { readonly id: number; readonly isFresh: boolean }>();

  constructor({ database, presence, acknowledged, space, accounts, now, onEvent }: FleetResultsParts) {
    this.#database = database;
    this.#presence = presence;
    this.#acknowledged = acknowledged;
    this.#space = space;
    this.#accounts = accounts;
    this.#now = now;
    this.#onEvent = onEvent;
  }

  async get(address: ResultAddress): Promise<StoredResult | undefined> {
    const at = this.#now();
    const [row] = await this.#database.query<FoundRow>(GET, [address.namespace, keyOf(address)]);
    if (!row) return undefined;
    const result = decodeRow(address, row);
    if (!result) {
      this.#acknowledged.removeResult(address);
      const gone = await this.#database.query(REMOVE, [address.namespace, keyOf(address), row.id]);
      if (gone.length > 0)
        this.#onEvent({ type: 'result-dropped', address, detail: 'its record fails its checksum' });
      return undefined;
    }
    const seen = new Map(row.seen.map(decodeSeen));
    const references = result.references.map((digest) => {
      const blob = seen.get(digest.hash);
      return new SeenDigest(digest, blob?.size === digest.size ? blob.tenants : undefined, at);
    });
    const found = { ...result, references };
    this.#found.set(found, { id: row.id, isFresh: row.isFresh ?? false });
    return found;
  }

  async markUsed(_address: ResultAddress, result: StoredResult): Promise<void> {
    const found = this.#found.get(result);
    if (found && !found.isFresh) await this.#database.query(USE, [found.id]);
  }

  async put(
    address: ResultAddress,
    result: StoredResult,
    replacing: StoredResult | undefined,
  ): Promise<boolean> {
    const holder = this.#accounts.holderOf(address.namespace);
    this.#space.refuseIfFull('index', 1, holder);
    const numbers = holder && (await this.#accounts.numbersOf(holder));
    const id = replacing && (await this.#idOf(address, replacing));
    if (replacing && id === undefined) return false;
    const named = namedBlobs(result);
    const values = [
      address.namespace,
      keyOf(address),
      result.bytes,
      hashArray(result.references.map(({ hash }) => hash)),
      numberArray(result.references.map(({ size }) => size)),
      encodeWriter(result.writer),
      checksumOf(address, result),
      named.length,
    ];
    if (id !== undefined) values.push(id);
    if (numbers) values.push(numbers.own, numbers.rest);
    const statement = id === undefined ? (numbers ? ADD_HELD : ADD) : numbers ? REPLACE_HELD : REPLACE;
    for (;;) {
      const [row] = await this.#database.query<Written>(statement, values);
      if (row?.isStored) {
        this.#acknowledged.addResult(address);
        this.#space.stored('index', result.bytes.length + RESULT_ROW_BYTES, holder);
      }
      if (row?.isHeld === false) await this.#lease(named);
      else if (row?.isLacking && numbers)
        await hold(
          this.#database,
          named.map(({ hash }) => hash),
          numbers,
        );
      else return row?.isStored === true;
    }
  }

  /** Undefined if another result is stored. */
  async #idOf(address: ResultAddress, result: StoredResult): Promise<number | undefined> {
    const found = this.#found.get(result);
    if (found) return found.id;
    const current = await this.#current(address);
    return isSame(current?.result, result) ? current?.id : undefined;
  }

  /** Throws if one of them is missing. */
  async #lease(digests: readonly Digest[]): Promise<void> {
    const [first] = await this.#presence.missingNow(digests);
    if (first)
      throw new AssayError('ASSAY_RESULT_INCOMPLETE', `missing: ${first.hash} (${first.size} bytes)`);
  }

  async #current(
    address: ResultAddress,
  ): Promise<{ readonly id: number; readonly result: StoredResult | undefined } | undefined> {
    const [row] = await this.#database.query<FoundRow>(GET, [address.namespace, keyOf(address)]);
    return row && { id: row.id, result: decodeRow(address, row) };
  }

  async after(position: string | undefined): Promise<RecordsPage> {
    const [namespace = '', key = ''] = position?.split('\0') ?? [];
    const rows = await this.#database.query<PageRow>(PAGE, [namespace, Buffer.from(key, 'hex')]);
    const records = rows.flatMap((row) => {
      const address = { namespace: row.namespace, key: row.key.toString('hex') as Hash };
      const result = decodeRow(address, row);
      return result ? { address, result } : [];
    });
    const last = rows.at(-1);
    return { records, position: last && `${last.namespace}\0${last.key.toString('hex')}` };
  }

  async remove(address: ResultAddress, seen: StoredResult): Promise<boolean> {
    const current = await this.#current(address);
    if (!current?.result || !isSame(current.result, seen)) return false;
    if (!isDeepStrictEqual(current.result.writer, seen.writer)) return false;
    this.#acknowledged.removeResult(address);
    const rows = await this.#database.query(REMOVE, [address.namespace, keyOf(address), current.id]);
    return rows.length > 0;
  }
}

function keyOf({ key }: ResultAddress): Buffer {
  return Buffer.from(key, 'hex');
}

/** Each once, without the empty blob, which has no row. */
function namedBlobs({ references }: StoredResult): Digest[] {
  const byHash = new Map(references.map((digest) => [digest.hash, digest]));
  byHash.delete(EMPTY.hash);
  return [...byHash.values()];
}

interface SeenBlob {
  readonly size: number;
  readonly tenants: readonly number[];
}

/** Of `seen` in GET: 32 bytes, an int8, and PostgreSQL's binary form of an int4[]. */
function decodeSeen(text: string): [string, SeenBlob] {
  const hash = text.slice(0, HASH_DIGITS);
  const rest = Buffer.from(text.slice(HASH_DIGITS), 'hex');
  const size = Number(rest.readBigInt64BE(0));
  const tenants: number[] = [];
  for (let at = FIRST_TENANT; at < rest.length; at += TENANT_STEP) tenants.push(rest.readInt32BE(at));
  return [hash, { size, tenants }];
}

const HASH_DIGITS = 64;
/** After the size, five numbers about the array, and the length of its first element. An empty one has three numbers. */
const FIRST_TENANT = 8 + 6 * 4;
/** An element has its length before it. */
const TENANT_STEP = 2 * 4;

/** Undefined if a bit has changed. */
export function decodeRow(address: ResultAddress, row: ResultRow): StoredResult | undefined {
  if (row.hashes.length !== row.sizes.length) return undefined;
  const references = row.hashes.map((hash, index) => ({ hash, size: row.sizes[index] ?? 0 }));
  const result = { bytes: row.bytes, references, writer: decodeWriter(row.writer) };
  return checksumOf(address, result).equals(row.checksum) ? result : undefined;
}

/** Covers the address too, so that no flipped bit can move a result to another key. One call: a hasher takes 20 µs. */
function checksumOf({ namespace, key }: ResultAddress, { bytes, references, writer }: StoredResult): Buffer {
  const names = references.map(({ hash, size }) => `${hash}/${size} `).join('');
  const head = Buffer.from(`${namespace}\0${key}\0${encodeWriter(writer) ?? ''}\0${names}\0`);
  return Buffer.from(sha256(Buffer.concat([head, bytes])), 'hex');
}

function encodeWriter(writer: Writer | undefined): string | null {
  return writer ? JSON.stringify([writer.name, writer.from, writer.via, writer.at]) : null;
}

function decodeWriter(text: string | null): Writer | undefined {
  if (text === null) return undefined;
  const [name, from, via, at]: unknown[] = JSON.parse(text);
  return typeof at === 'number'
    ? { name: String(name), from: String(from), via: String(via), at }
    : undefined;
}

function isSame(a: StoredResult | undefined, b: StoredResult | undefined): boolean {
  return a && b ? a.bytes.equals(b.bytes) : a === b;
}
