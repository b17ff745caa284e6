// Lists and examines everything in a fleet, in the order of the index. It renews no lease.
// It reads every byte from the bucket. A wrong blob is quarantined; an object that is missing becomes a suspect
// (lost-objects.ts), because one answer of the bucket is not enough to remove a blob.
import { EMPTY, type Hash } from '../../../core/digest.ts';
import { storedNamespace } from '../../../core/namespace.ts';
import { nodeCrypto, sha256 } from '../../../core/sha256.ts';
import { STORE, TURN } from '../../../store/limits.ts';
import { decodeChecksums } from '../../../store/shared/checksum.ts';
import type {
  Blob,
  BlobHealth,
  InspectedBlob,
  InspectedResult,
  Inspection,
  OnRead,
  ResultAddress,
  ResultsPage,
} from '../../../store/store.ts';
import type { BlobRow, FleetBlobs } from './blobs.ts';
import type { Bucket } from './bucket.ts';
import type { Database, Statement } from './index/database.ts';
import type { LostObjects } from './lost-objects.ts';
import { NoSuchObject, type ObjectList, readChunks, WrongChunk } from './object-reader.ts';
import { decodeRow, RESULT_COLUMNS, type ResultRow } from './results.ts';
import { EVERY_TENANT } from './tenants.ts';

const BLOBS: Statement = {
  name: 'inspect blobs',
  text: `
    SELECT encode(p.hash, 'hex') AS hash, p.size,
      ARRAY(SELECT t.name FROM assay.tenant t WHERE t.number = ANY (p.tenants)) AS tenants
    FROM assay.presence p WHERE p.hash > $1 ORDER BY p.hash LIMIT ${STORE.rangeEntries}`,
};

const RESULTS: Statement = {
  name: 'inspect results',
  text: `
    SELECT r.namespace, r.key, ${RESULT_COLUMNS},
      (SELECT count(*)::int FROM unnest(r.hashes, r.sizes) AS a(hash, size)
       LEFT JOIN assay.presence p ON p.hash = a.hash AND p.size = a.size
       WHERE p.hash IS NULL AND a.hash <> '\\x${EMPTY.hash}') AS missing
    FROM assay.result r
    WHERE (r.namespace, r.key) > ($1, $2) ORDER BY r.namespace, r.key LIMIT ${TURN.results}`,
};

interface InspectedRow extends ResultRow {
  readonly namespace: ResultAddress['namespace'];
  readonly key: Buffer;
  readonly missing: number;
}

export class FleetInspection implements Inspection {
  readonly #database: Database;
  readonly #bucket: Bucket;
  readonly #blobs: FleetBlobs;
  readonly #lost: LostObjects;

  constructor(database: Database, bucket: Bucket, blobs: FleetBlobs, lost: LostObjects) {
    this.#database = database;
    this.#bucket = bucket;
    this.#blobs = blobs;
    this.#lost = lost;
  }

  blobsAfter(hash: Hash | undefined): Promise<readonly InspectedBlob[]> {
    return this.#database.query<InspectedBlob>(BLOBS, [Buffer.from(hash ?? '', 'hex')]);
  }

  async read(hash: Hash): Promise<Blob | undefined> {
    const row = await this.#blobs.find(hash, EVERY_TENANT);
    return row && this.#blobs.open(hash, row);
  }

  async examine(hash: Hash, onRead: OnRead): Promise<BlobHealth> {
    const row = await this.#blobs.find(hash, EVERY_TENANT);
    if (!row) return 'gone';
    const fault = await this.#faultIn(hash, row, onRead);
    if (fault === undefined) return 'whole';
    if ((await this.#blobs.find(hash, EVERY_TENANT))?.generation !== row.generation) return 'gone';
    if (fault.missing) this.#lost.suspect(hash, row.generation, fault.missing);
    else await this.#blobs.quarantine(hash, row.generation, fault.detail);
    return 'damaged';
  }

  async #faultIn(hash: Hash, row: BlobRow, onRead: OnRead): Promise<Fault | undefined> {
    const { size, bytes, names, lengths } = row;
    if (bytes) {
      await onRead(size);
      return sha256(bytes) === hash ? undefined : OTHER_HASH;
    }
    const checksums = decodeChecksums(row.checksums, size);
    if (!checksums || !names || !lengths) return { detail: 'its checksums do not fit its size' };
    const list = { size, checksums, names, lengths };
    try {
      const hasher = nodeCrypto().createHash('sha256');
      for await (const chunk of readChunks(this.#bucket, list, 0, checksums.length)) {
        hasher.update(chunk);
        await onRead(chunk.length);
      }
      return hasher.digest('hex') === hash ? undefined : OTHER_HASH;
    } catch (error) {
      if (error instanceof NoSuchObject) return { detail: error.message, missing: list };
      if (error instanceof WrongChunk) return { detail: error.message };
      throw error;
    }
  }

  async resultsAfter(position: string | undefined): Promise<ResultsPage> {
    const [namespace = '', key = ''] = position?.split('\0') ?? [];
    const rows = await this.#database.query<InspectedRow>(RESULTS, [namespace, Buffer.from(key, 'hex')]);
    const last = rows.at(-1);
    return {
      results: rows.map(inspected),
      position: last && `${last.namespace}\0${last.key.toString('hex')}`,
    };
  }
}

interface Fault {
  readonly detail: string;
  /** The objects of the blob, if the bucket does not have one of them. */
  readonly missing?: ObjectList;
}

const OTHER_HASH: Fault = { detail: 'its bytes have another SHA-256' };

function inspected(row: InspectedRow): InspectedResult {
  const address = { namespace: row.namespace, key: row.key.toString('hex') as Hash };
  return {
    // The rival of a result has a namespace that no client can name.
    address: storedNamespace(row.namespace) === undefined ? undefined : address,
    isReadable: decodeRow(address, row) !== undefined,
    missing: row.missing,
  };
}
