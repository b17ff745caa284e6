// The blobs of the fleet engine: small ones in their row, large ones in the bucket. Every byte is checked at each
// read, so no verify layer is needed above.
//
// Invariants:
// F1 A blob is present if and only if `presence` has its row. `content` has a row of the same generation; both
//    are written and removed in one statement.
// F2 The row of a large blob is written after its object is durable, and only while the object's row is still the
//    upload's own (object-rows.ts). The second of two uploads of one digest condemns its own object.
// F3 An object's name is never used twice. So nothing that deletes an object can hit another blob's.
// F4 A put of a large blob is acknowledged only if the bucket has its objects. If it has lost one, or this node reads
//    wrong bytes of one, the objects that the put has just sent take their place, as a new generation.
import { concurrently } from '../../../core/concurrently.ts';
import { type Digest, digestOf, type Hash } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { sha256 } from '../../../core/sha256.ts';
import type { OnStoreEvent } from '../../../store/events.ts';
import { STORE } from '../../../store/limits.ts';
import { decodeChecksums, encodeChecksums, loadChecksum } from '../../../store/shared/checksum.ts';
import { ContentHash } from '../../../store/shared/content-hash.ts';
import { refuseExcess, refuseMismatch } from '../../../store/shared/expected.ts';
import type { Blob, Blobs, Content, Expected, LargeBlob } from '../../../store/store.ts';
import { FLEET } from '../limits.ts';
import type { FleetAccounts, FleetHolder, HolderNumbers } from './accounts/accounts.ts';
import { hold } from './accounts/holding.ts';
import type { AcknowledgedPuts } from './acknowledged-puts.ts';
import type { Bucket } from './bucket.ts';
import type { Database, Statement } from './index/database.ts';
import { blobInIndex, holdersIn, inBucket, lacksHolder, takenOut } from './index/held-bytes.ts';
import { FRESH_TICKS } from './index/logical-clock.ts';
import { CONDEMNED, type ObjectRows, PART, STORED, UPLOADING } from './index/object-rows.ts';
import type { LostObjects } from './lost-objects.ts';
import { NoSuchObject, type ObjectList, WrongChunk } from './object-reader.ts';
import type { BlobPresence } from './presence.ts';
import type { SharedReads, Tier } from './shared-reads.ts';
import type { FleetSpace, Incoming } from './space.ts';
import { EVERY_TENANT, type FleetTenants, NO_TENANT } from './tenants.ts';
import type { WrongObjects } from './wrong-objects.ts';

const GET: Statement = {
  name: 'blob get',
  text: `
    SELECT p.generation, p.size, p.tick > c.tick - ${FRESH_TICKS} AS "isFresh",
      k.checksums, k.bytes, k.objects::text[] AS names, k.lengths
    FROM assay.clock c, assay.presence p JOIN assay.content k ON k.hash = p.hash AND k.generation = p.generation
    WHERE p.hash = $1 AND ($2::int = ${EVERY_TENANT} OR $2 = ANY (p.tenants))`,
};

/**
 * `$1` hash, `$2` size, `$3` the tenant and the holder. A blob that is present gets the tenant and a new stamp: its
 * counts change with its holders (accounts/holding.ts).
 */
const ADD_PRESENCE = `
  INSERT INTO assay.presence AS p (hash, generation, size, tick, tenants)
  SELECT $1, g.n, $2, c.tick, $3::int[] FROM c, g WHERE EXISTS (SELECT FROM mine)
  ON CONFLICT (hash) DO UPDATE SET tick = greatest(p.tick, excluded.tick), tenants =
    CASE WHEN p.tenants @> excluded.tenants[1:1] THEN p.tenants ELSE p.tenants || excluded.tenants[1:1] END
  RETURNING generation, tenants`;

/** `lacking`: whether the list lacks the holder of the put. Without accounts there is none. */
const putSmall = (name: string, lacking: string): Statement => ({
  name,
  text: `
    WITH c AS (SELECT tick FROM assay.clock), g AS (SELECT nextval('assay.generation') AS n), mine AS (SELECT),
      added AS (${ADD_PRESENCE}),
      placed AS (
        INSERT INTO assay.content (hash, generation, age, checksums, bytes)
        SELECT $1, g.n, c.tick, $4, $5 FROM added, g, c WHERE added.generation = g.n
      )
    SELECT added.generation = g.n AS "isMine", ${lacking} AS "isLacking" FROM added, g`,
});
const PUT_SMALL = putSmall('blob put small', 'false');
const PUT_SMALL_HELD = putSmall('blob put small held', lacksHolder('added.tenants', '$6::int', '$7::int'));

/** No row comes back if an object is no longer the upload's own. */
const putLarge = (name: string, lacking: string): Statement => ({
  name,
  text: `
    WITH c AS (SELECT tick FROM assay.clock), g AS (SELECT nextval('assay.generation') AS n),
      owned AS (
        SELECT name FROM assay.object WHERE name = ANY ($5::uuid[]) AND state IN (${UPLOADING}, ${PART})
        ORDER BY name FOR UPDATE
      ),
      mine AS (SELECT WHERE (SELECT count(*) FROM owned) = cardinality($5::uuid[])),
      added AS (${ADD_PRESENCE}),
      placed AS (
        INSERT INTO assay.content (hash, generation, age, checksums, objects, lengths)
        SELECT $1, g.n, c.tick, $4, $5, $6::int8[] FROM added, g, c WHERE added.generation = g.n
      ),
      settled AS (
        UPDATE assay.object o SET state = ${STORED}, tick = c.tick FROM added, g, c
        WHERE o.name IN (SELECT name FROM owned) AND added.generation = g.n
      )
    SELECT added.generation = g.n AS "isMine", ${lacking} AS "isLacking" FROM added, g`,
});
const PUT_LARGE = putLarge('blob put large', 'false');
const PUT_LARGE_HELD = putLarge('blob put large held', lacksHolder('added.tenants', '$7::int', '$8::int'));

/** Gives the blob of generation `$2` the upload's own objects. No row comes back if one of them has changed. */
const REPAIR: Statement = {
  name: 'blob repair',
  text: `
    WITH c AS (SELECT tick FROM assay.clock), g AS (SELECT nextval('assay.generation') AS n),
      owned AS (
        SELECT name FROM assay.object WHERE name = ANY ($5::uuid[]) AND state IN (${UPLOADING}, ${PART})
        ORDER BY name FOR UPDATE
      ),
      lost AS (
        SELECT k.objects, k.age, ${inBucket('k')} AS bucket, ${blobInIndex('k')} AS index, ${holdersIn('p.tenants')} AS holders
        FROM assay.presence p JOIN assay.content k ON k.hash = p.hash
        WHERE p.hash = $1 AND p.generation = $2 AND k.generation = $2
          AND (SELECT count(*) FROM owned) = cardinality($5::uuid[])
        FOR UPDATE OF p
      ),
      repaired AS (
        UPDATE assay.presence p SET generation = g.n, tick = greatest(p.tick, c.tick), tenants =
          CASE WHEN p.tenants @> ($3::int[])[1:1] THEN p.tenants ELSE p.tenants || ($3::int[])[1:1] END
        FROM c, g, lost WHERE p.hash = $1 AND p.generation = $2 RETURNING p.hash
      ),
      placed AS (
        UPDATE assay.content k SET generation = g.n, age = c.tick, checksums = $4, objects = $5, lengths = $6::int8[]
        FROM c, g, repaired WHERE k.hash = repaired.hash
      ),
      settled AS (
        UPDATE assay.object o SET tick = c.tick,
          state = CASE WHEN o.name = ANY ($5::uuid[]) THEN ${STORED} ELSE ${CONDEMNED} END
        FROM c, lost, repaired WHERE o.name = ANY ($5::uuid[] || lost.objects)
      ),
      left_behind AS (SELECT bucket, index, age AS was, c.tick AS stays, holders FROM lost, repaired, c),
      uncounted AS (${takenOut('left_behind')})
    SELECT hash FROM repaired`,
};

const GIVE: Statement = {
  name: 'blob give',
  text: `
    UPDATE assay.presence p SET tick = c.tick, tenants =
      CASE WHEN p.tenants @> $2::int[] THEN p.tenants ELSE p.tenants || $2::int[] END
    FROM assay.clock c WHERE p.hash = $1 RETURNING p.generation`,
};

const REMOVE: Statement = {
  name: 'blob remove',
  text: `
    WITH gone AS (DELETE FROM assay.presence WHERE hash = $1 AND generation = $2 RETURNING hash, size, tenants),
      content AS (
        DELETE FROM assay.content k USING gone WHERE k.hash = gone.hash
        RETURNING k.objects, ${inBucket('k')} AS bucket, ${blobInIndex('k')} AS index, k.age AS was, NULL::int8 AS stays,
          ${holdersIn('gone.tenants')} AS holders
      ),
      condemned AS (
        UPDATE assay.object o SET state = ${CONDEMNED}, tick = c.tick FROM content, assay.clock c
        WHERE o.name = ANY (content.objects)
      ),
      uncounted AS (${takenOut('content')})
    SELECT size FROM gone`,
};

/** Roughly what a blob takes in PostgreSQL besides its content. */
const BLOB_ROW_BYTES = 500;

export interface BlobRow {
  readonly generation: number;
  readonly size: number;
  readonly isFresh: boolean;
  readonly checksums: Buffer;
  readonly bytes: Buffer | null;
  readonly names: string[] | null;
  readonly lengths: number[] | null;
}

interface Put {
  readonly isMine: boolean;
  /** The blob was present, and its list lacks the holder. */
  readonly isLacking: boolean;
}

/** The tenant and the holder that send a blob. */
export interface BlobSender {
  /** Undefined: the store itself. */
  readonly tenant: string | undefined;
  /** Undefined without accounts. */
  readonly holder: FleetHolder | undefined;
}

export const STORE_ITSELF: BlobSender = { tenant: undefined, holder: undefined };

interface FleetBlobsParts {
  readonly database: Database;
  readonly bucket: Bucket;
  readonly presence: BlobPresence;
  readonly acknowledged: AcknowledgedPuts;
  readonly tenants: FleetTenants;
  readonly accounts: FleetAccounts;
  readonly objectRows: ObjectRows;
  readonly lost: LostObjects;
  readonly wrong: WrongObjects;
  readonly reads: SharedReads;
  readonly space: FleetSpace;
  readonly tier: Tier | undefined;
  readonly now: () => number;
  readonly onEvent: OnStoreEvent;
}

export class FleetBlobs implements Blobs {
  readonly #parts: FleetBlobsParts;
  /**
   * Large blobs that tenants have been given here. While PostgreSQL is away, each tenant gets those from the tier:
   * what a tenant has put stays its own.
   */
  readonly #served = new Set<string>();

  constructor(parts: FleetBlobsParts) {
    this.#parts = parts;
  }

  /** The blobs that a tenant has put, for that tenant. */
  ofTenant(sender: BlobSender): Blobs {
    const name = sender.tenant;
    return {
      get: (hash) => this.get(hash, name),
      put: (expected, content) => this.put(expected, content, sender),
      missing: (digests) => this.missing(digests, name),
      touch: (hashes) => this.touch(hashes, name),
    };
  }

  /** Without a tenant, here and below: for the store itself, which sees every blob. */
  async get(hash: Hash, tenant?: string): Promise<Blob | undefined> {
    try {
      const blob = await this.#get(hash, tenant);
      if (blob && !blob.bytes && this.#parts.tier) this.#remember(servedKey(hash, tenant));
      return blob;
    } catch (error) {
      if (!isIndexAway(error)) throw error;
      const isAllowed = tenant === undefined || this.#served.has(servedKey(hash, tenant));
      const copy = isAllowed ? await this.#parts.tier?.get(hash) : undefined;
      if (!copy) throw error;
      return copy;
    }
  }

  async #get(hash: Hash, tenant: string | undefined): Promise<Blob | undefined> {
    const number = await this.#parts.tenants.find(tenant);
    if (number === NO_TENANT) return undefined;
    const row = await this.find(hash, number);
    if (!row) return undefined;
    if (!row.isFresh && (await this.#parts.presence.missing([{ hash, size: row.size }], number)).length > 0)
      return undefined;
    return this.open(hash, row);
  }

  /** The blob of a row, checked. Undefined if it is damaged. */
  open(hash: Hash, row: BlobRow): Promise<Blob | undefined> {
    return row.bytes ? this.#small(hash, row, row.bytes) : this.#large(hash, row);
  }

  #remember(served: string): void {
    this.#served.delete(served);
    this.#served.add(served);
    if (this.#served.size <= FLEET.presenceMemoBlobs) return;
    for (const oldest of this.#served.keys().take(1)) this.#served.delete(oldest);
  }

  /** Renews no lease. */
  async find(hash: Hash, tenant: number): Promise<BlobRow | undefined> {
    const [row] = await this.#parts.database.query<BlobRow>(GET, [bytesOf(hash), tenant]);
    return row;
  }

  /** If the checksums differ, the SHA-256 decides: the stored checksum itself may be damaged. */
  async #small(hash: Hash, row: BlobRow, bytes: Buffer): Promise<Blob | undefined> {
    const checksum = await loadChecksum();
    const isIntact = row.checksums.equals(encodeChecksums([checksum(bytes)])) || sha256(bytes) === hash;
    if (isIntact) return { size: bytes.length, bytes };
    await this.quarantine(hash, row.generation, 'its bytes have another SHA-256');
    return undefined;
  }

  async #large(hash: Hash, row: BlobRow): Promise<Blob | undefined> {
    const { size, generation, names, lengths } = row;
    const checksums = decodeChecksums(row.checksums, size);
    if (checksums && names && lengths)
      return new FleetLargeBlob(this.#parts, hash, generation, { size, checksums, names, lengths });
    await this.quarantine(hash, generation, 'its checksums do not fit its size');
    return undefined;
  }

  async put(expected: Expected, content: Content, sender = STORE_ITSELF): Promise<Digest> {
    if (content instanceof Uint8Array && content.byteLength <= FLEET.inlineBytes)
      return this.#putSmall(expected, Buffer.from(content), sender);
    const isLarge = (size: number) => size > FLEET.inlineBytes;
    if (expected.size !== undefined && isLarge(expected.size)) {
      this.#refuseLarge(sender);
      this.#parts.space.refuseAnnounced(expected.size, sender.holder);
      this.#parts.space.refuseIfFull('bucket', 1, sender.holder);
    }
    const incoming = this.#parts.space.receive(sender.holder);
    const pieces = limited(expected, content, (size) => {
      if (isLarge(size)) incoming.grow(size);
    });
    try {
      const first = await takeUpTo(pieces, FLEET.inlineBytes);
      if (first.length <= FLEET.inlineBytes) return await this.#putSmall(expected, first, sender);
      this.#refuseLarge(sender);
      return await this.#putLarge(expected, prepend(first, pieces), sender, incoming);
    } finally {
      incoming.end();
      await pieces.return(undefined);
    }
  }

  #refuseLarge({ holder }: BlobSender): void {
    this.#parts.bucket.refuseIfAway();
    this.#parts.space.refuseIfFull('index', 1, holder);
  }

  async #putSmall(expected: Expected, bytes: Buffer, { tenant, holder }: BlobSender): Promise<Digest> {
    const digest = digestOf(bytes);
    refuseMismatch(expected, digest);
    if (digest.size === 0) return digest;
    this.#parts.space.refuseIfFull('index', 1, holder);
    const checksum = await loadChecksum();
    const number = await this.#parts.tenants.assign(tenant);
    const numbers = holder && (await this.#parts.accounts.numbersOf(holder));
    const at = this.#parts.now();
    const values = [...presenceValues(digest, number, numbers), encodeChecksums([checksum(bytes)]), bytes];
    const put = await this.#run(digest, PUT_SMALL, PUT_SMALL_HELD, values, numbers);
    if (put?.isMine) this.#parts.space.stored('index', digest.size + BLOB_ROW_BYTES, holder);
    this.#parts.presence.added(digest, number, at);
    this.#parts.acknowledged.addBlob(digest.hash);
    return digest;
  }

  /** With accounts, the blob has the holder of the put afterwards. */
  async #run(
    { hash }: Digest,
    plain: Statement,
    held: Statement,
    values: readonly unknown[],
    numbers: HolderNumbers | undefined,
  ): Promise<Put | undefined> {
    const { database } = this.#parts;
    const [put] = await (numbers
      ? database.query<Put>(held, [...values, numbers.own, numbers.rest])
      : database.query<Put>(plain, values));
    if (put?.isLacking && numbers) await hold(database, [hash], numbers);
    return put;
  }

  async #putLarge(
    expected: Expected,
    pieces: AsyncIterable<Uint8Array>,
    sender: BlobSender,
    incoming: Incoming,
  ): Promise<Digest> {
    const present = await this.#findPresent(expected);
    if (present && (await this.#hasObjects(expected.hash, present)))
      return this.#confirm(expected, pieces, sender);
    return this.#parts.objectRows.whileUploading(async (name) => {
      const hash = await ContentHash.create();
      try {
        const hashed = new HashedContent(expected, pieces, hash);
        await this.#parts.bucket.attempt((objects) =>
          objects.put(name, hashed, expected.size, expected.hash),
        );
        const { digest, checksums } = hashed.finished();
        await this.adopt(digest, checksums, [name], [digest.size], sender, incoming);
        return digest;
      } finally {
        hash.discard();
      }
    });
  }

  /** Makes the objects of a finished upload visible as one blob. `incoming` counts as stored from then on. */
  async adopt(
    digest: Digest,
    checksums: Buffer,
    names: readonly string[],
    lengths: readonly number[],
    { tenant, holder }: BlobSender,
    incoming?: Incoming,
  ): Promise<void> {
    const number = await this.#parts.tenants.assign(tenant);
    const numbers = holder && (await this.#parts.accounts.numbersOf(holder));
    const at = this.#parts.now();
    const values = [...presenceValues(digest, number, numbers), checksums, names, lengths];
    const put = await this.#run(digest, PUT_LARGE, PUT_LARGE_HELD, values, numbers);
    if (!put)
      throw new AssayError('ASSAY_STORE_FAULT', 'the upload took so long that its object was given up');
    incoming?.end();
    if (put.isMine) {
      this.#parts.space.stored('bucket', digest.size, holder);
      this.#parts.space.stored('index', BLOB_ROW_BYTES, holder);
    } else if (!(await this.#repair(digest.hash, [tenantList(number), checksums, names, lengths])))
      await this.#parts.objectRows.condemn(names);
    this.#parts.presence.added(digest, number, at);
    this.#parts.acknowledged.addBlob(digest.hash);
  }

  /**
   * The blob was present before this put. If the bucket has lost it, what was sent replaces it (F4). False if the
   * bucket has it.
   */
  async #repair(hash: Hash, sent: readonly unknown[]): Promise<boolean> {
    const present = await this.find(hash, EVERY_TENANT);
    if (present && (await this.#hasObjects(hash, present))) return false;
    const values = [bytesOf(hash), present?.generation, ...sent];
    if (!present || (await this.#parts.database.query(REPAIR, values)).length === 0) throw changed(hash);
    this.#parts.wrong.forget(hash);
    return true;
  }

  async #findPresent({ hash, size }: Expected): Promise<BlobRow | undefined> {
    if (hash === undefined) return undefined;
    const found = await this.find(hash, EVERY_TENANT);
    if (!found || (size !== undefined && size !== found.size)) return undefined;
    const missing = await this.#parts.presence.missing([{ hash, size: found.size }], EVERY_TENANT);
    return missing.length === 0 ? found : undefined;
  }

  /** Asks the bucket. A bucket without its canary may be another one: what it lacks means nothing. */
  async #hasObjects(hash: Hash | undefined, { generation, names }: BlobRow): Promise<boolean> {
    const { bucket, wrong } = this.#parts;
    if (hash !== undefined && wrong.isSuspect(hash, generation)) return false;
    let isWhole = true;
    await concurrently(names ?? [], FLEET.objectChecks, async (name) => {
      if (!(await bucket.has(name))) isWhole = false;
    });
    if (!isWhole && !(await bucket.canReadCanary()))
      throw new AssayError('ASSAY_BUCKET_AWAY', 'it has neither the object nor the canary');
    return isWhole;
  }

  /**
   * The blob was present and leased at the start, so nothing was uploaded. The tenant gets it because it has sent
   * the whole content.
   */
  async #confirm(
    expected: Expected,
    pieces: AsyncIterable<Uint8Array>,
    { tenant, holder }: BlobSender,
  ): Promise<Digest> {
    const hash = await ContentHash.create();
    for await (const piece of pieces) hash.update(piece);
    const { digest } = hash.finish();
    refuseMismatch(expected, digest);
    const number = await this.#parts.tenants.assign(tenant);
    const given = await this.#parts.database.query(GIVE, [bytesOf(digest.hash), tenantList(number)]);
    if (given.length === 0) throw changed(digest.hash);
    if (holder) await hold(this.#parts.database, [digest.hash], await this.#parts.accounts.numbersOf(holder));
    return digest;
  }

  /** What this node reads with wrong bytes is missing too. */
  async missing(digests: readonly Digest[], tenant?: string): Promise<Digest[]> {
    const { presence, tenants, wrong } = this.#parts;
    const missing = await presence.missing(digests, await tenants.find(tenant));
    if (!wrong.hasSuspects) return missing;
    const hashes = new Set(missing.map(({ hash }) => hash));
    return digests.filter(({ hash }) => hashes.has(hash) || wrong.isSuspect(hash));
  }

  async touch(hashes: readonly Hash[], tenant?: string): Promise<void> {
    await this.#parts.presence.renew(hashes, await this.#parts.tenants.find(tenant));
  }

  /** Takes that generation out of the index. Its objects are condemned. */
  async quarantine(
    hash: Hash,
    generation: number,
    detail: string,
    type: 'quarantined' | 'lost' = 'quarantined',
  ): Promise<void> {
    this.#parts.presence.forget();
    this.#parts.acknowledged.removeBlob(hash);
    this.#parts.wrong.forget(hash);
    const gone = await this.#parts.database.query(REMOVE, [bytesOf(hash), generation]);
    if (gone.length > 0) this.#parts.onEvent({ type, hash, detail });
  }
}

class FleetLargeBlob implements LargeBlob {
  readonly size: number;
  readonly #parts: FleetBlobsParts;
  readonly #hash: Hash;
  readonly #generation: number;
  readonly #list: ObjectList;

  constructor(parts: FleetBlobsParts, hash: Hash, generation: number, list: ObjectList) {
    this.size = list.size;
    this.#parts = parts;
    this.#hash = hash;
    this.#generation = generation;
    this.#list = list;
  }

  async *chunks(offset = 0, length = this.size): AsyncGenerator<Buffer> {
    const end = Math.min(offset + length, this.size);
    if (offset >= end) return;
    const first = Math.floor(offset / STORE.chunkBytes);
    const last = Math.ceil(end / STORE.chunkBytes);
    let start = first * STORE.chunkBytes;
    try {
      for await (const chunk of this.#parts.reads.chunks(this.#hash, this.#list, first, last)) {
        yield chunk.subarray(Math.max(0, offset - start), end - start);
        start += chunk.length;
      }
    } catch (error) {
      if (error instanceof NoSuchObject) this.#parts.lost.suspect(this.#hash, this.#generation, this.#list);
      throw error instanceof WrongChunk ? this.#wrong(error.message) : error;
    }
  }

  #wrong(detail: string): AssayError {
    this.#parts.wrong.suspect(this.#hash, this.#generation, this.#list);
    return new AssayError('ASSAY_BLOB_CORRUPT', `${this.#hash}: ${detail}`);
  }
}

function changed(hash: Hash): AssayError {
  return new AssayError(
    'ASSAY_STORE_FAULT',
    `${hash} was removed while it was sent again; send it once more`,
  );
}

/** The first three parameters of a put. */
function presenceValues(
  { hash, size }: Digest,
  tenant: number,
  numbers: HolderNumbers | undefined,
): unknown[] {
  const isRest = !numbers || numbers.own === numbers.rest;
  return [bytesOf(hash), size, isRest ? tenantList(tenant) : [...tenantList(tenant), numbers.own]];
}

function tenantList(tenant: number): number[] {
  return tenant === EVERY_TENANT ? [] : [tenant];
}

function servedKey(hash: Hash, tenant = ''): string {
  return `${tenant} ${hash}`;
}

function isIndexAway(error: unknown): boolean {
  return error instanceof AssayError && error.code === 'ASSAY_INDEX_AWAY';
}

export function bytesOf(hash: Hash): Buffer {
  return Buffer.from(hash, 'hex');
}

/** `admit` gets how many bytes have arrived, with each piece. */
async function* limited(
  expected: Expected,
  content: Content,
  admit: (size: number) => void,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const piece of content instanceof Uint8Array ? [content] : content) {
    size += piece.byteLength;
    refuseExcess(expected, size);
    admit(size);
    yield piece;
  }
}

/** A copy of the first bytes: all of the content, or more than `most` bytes of it. */
async function takeUpTo(pieces: AsyncGenerator<Uint8Array>, most: number): Promise<Buffer> {
  const taken: Buffer[] = [];
  for (let size = 0; size <= most; ) {
    const { value, done } = await pieces.next();
    if (done) break;
    taken.push(Buffer.from(value));
    size += value.byteLength;
  }
  return Buffer.concat(taken);
}

async function* prepend(first: Buffer, rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first;
  yield* rest;
}

/** Fails at its end if it is not what was expected: the bucket then keeps nothing. */
class HashedContent {
  readonly #expected: Expected;
  readonly #pieces: AsyncIterable<Uint8Array>;
  readonly #hash: ContentHash;
  #finished: ReturnType<ContentHash['finish']> | undefined;

  constructor(expected: Expected, pieces: AsyncIterable<Uint8Array>, hash: ContentHash) {
    this.#expected = expected;
    this.#pieces = pieces;
    this.#hash = hash;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for await (const piece of this.#pieces) {
      this.#hash.update(piece);
      yield piece;
    }
    this.#finished = this.#hash.finish();
    refuseMismatch(this.#expected, this.#finished.digest);
  }

  finished(): ReturnType<ContentHash['finish']> {
    if (this.#finished) return this.#finished;
    throw new AssayError('ASSAY_INTERNAL', 'the content was not read to its end');
  }
}
