// Lists and examines everything in a disk store, in the order of the index. For verify and for the scrub.
// It renews no lease, so an inspection does not keep unused blobs.

import { type Hash, isHash } from '../../core/digest.ts';
import { AssayError } from '../../core/errors.ts';
import { storedNamespace } from '../../core/namespace.ts';
import { isHolderName } from '../accounts.ts';
import { examine } from '../layers/examine.ts';
import { verified } from '../layers/verify.ts';
import { TURN } from '../limits.ts';
import type { RawBlobs } from '../raw.ts';
import type {
  Blob,
  BlobHealth,
  InspectedBlob,
  InspectedResult,
  Inspection,
  OnRead,
  ResultAddress,
  ResultsPage,
} from '../store.ts';
import type { Index } from './index/index.ts';
import { decodePresence, decodeResultRecord, numbersIn, resultAddressIn } from './index/records.ts';
import { type Row, rowsFrom } from './index/tables.ts';

const FIRST = Buffer.alloc(1);

export class DiskInspection implements Inspection {
  readonly #index: Index;
  readonly #blobs: RawBlobs;
  /** Names by number, also those of holders. A tenant that is new since it was read has an unknown number. */
  #tenants: ReadonlyMap<number, string> = new Map();

  constructor(index: Index, blobs: RawBlobs) {
    this.#index = index;
    this.#blobs = blobs;
  }

  async blobsAfter(hash: Hash | undefined): Promise<readonly InspectedBlob[]> {
    const start = hash === undefined ? FIRST : Buffer.from(hash, 'hex');
    const rows = this.#rows('presence', start, hash !== undefined);
    return rows.map(({ key, value, version = 0 }) => {
      const { size, tenants } = decodePresence(value, version);
      return { hash: hashFrom(key), size, tenants: this.#namesOf(numbersIn(tenants)) };
    });
  }

  #namesOf(tenants: readonly number[]): string[] {
    if (tenants.some((number) => !this.#tenants.has(number))) this.#tenants = this.#index.tenants.names();
    return tenants.flatMap((number) => this.#tenants.get(number) ?? []).filter((name) => !isHolderName(name));
  }

  read(hash: Hash): Promise<Blob | undefined> {
    return verified(this.#blobs).get(hash);
  }

  examine(hash: Hash, onRead: OnRead): Promise<BlobHealth> {
    return examine(this.#blobs, hash, onRead);
  }

  async resultsAfter(position: string | undefined): Promise<ResultsPage> {
    const start = position === undefined ? FIRST : Buffer.from(position, 'hex');
    const rows = this.#rows('results', start, position !== undefined, TURN.inspectedResults);
    return { results: rows.map((row) => this.#inspected(row)), position: rows.at(-1)?.key.toString('hex') };
  }

  #rows(table: 'presence' | 'results', start: Buffer, isExclusive: boolean, limit?: number): Row[] {
    this.#index.refresh();
    return rowsFrom(this.#index.tables.table(table), start, undefined, isExclusive, limit);
  }

  #inspected({ key, value }: Row): InspectedResult {
    const result = decodeResultRecord(key, value);
    const missing = result?.references.filter(
      ({ hash, size }) => size > 0 && this.#index.find(hash)?.size !== size,
    );
    return {
      address: addressIn(key),
      isReadable: result !== undefined,
      missing: missing?.length ?? 0,
    };
  }
}

/** Undefined for a row that no client can ask for: the rival of a result, or a key with a flipped bit. */
function addressIn(key: Buffer): ResultAddress | undefined {
  const address = resultAddressIn(key);
  return address && storedNamespace(address.namespace) !== undefined ? address : undefined;
}

function hashFrom(key: Buffer): Hash {
  const hash = key.toString('hex');
  if (isHash(hash)) return hash;
  throw new AssayError('ASSAY_STORE_FAULT', `the index has a key of ${key.length} bytes`);
}
