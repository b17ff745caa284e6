// Uploads in parts, which any node may continue. Each part becomes rows: small ones with their bytes, large ones
// with objects of at most FLEET.segmentBytes.
//
// Invariants:
// U1 `committed` counts only bytes that are durable, in rows or in objects. A crash costs at most one segment.
// U2 Each append takes the upload over (upload-rows.ts). A part of an earlier owner, here or on another node, can't
//    be recorded any more and fails with ASSAY_BAD_OFFSET.
// U3 A finished upload enters like any other put. If this node has hashed all of it, and its objects are large
//    enough, they become the blob's. Otherwise the parts are read, checked and written again as one object.
// U4 The objects of a dropped upload are condemned in the statement that drops it.
import type { Digest } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { STORE } from '../../../store/limits.ts';
import { decodeChecksums, loadChecksum } from '../../../store/shared/checksum.ts';
import { ChunkChecksums, ContentHash } from '../../../store/shared/content-hash.ts';
import { refuseExcess, refuseMismatch } from '../../../store/shared/expected.ts';
import { IncomingPart, superseded } from '../../../store/shared/incoming-part.ts';
import {
  type Expected,
  isLastPart,
  type UploadPart,
  type UploadStatus,
  type Uploads,
} from '../../../store/store.ts';
import { FLEET } from '../limits.ts';
import type { FleetAccounts, FleetHolder } from './accounts/accounts.ts';
import { type BlobSender, type FleetBlobs, STORE_ITSELF } from './blobs.ts';
import type { Bucket } from './bucket.ts';
import type { ObjectRows } from './index/object-rows.ts';
import { readChunks, WrongChunk } from './object-reader.ts';
import { PartPieces, type ReceivingUpload } from './part-pieces.ts';
import type { FleetSpace, Incoming } from './space.ts';
import { type FleetTenants, NO_TENANT } from './tenants.ts';
import type { FleetUploadRow, PartRow, UploadKey, UploadRows } from './upload-rows.ts';

/** An upload that this node owns now. */
interface OwnedUpload extends UploadKey, ReceivingUpload {
  readonly sender: BlobSender;
  committed: number;
}

interface Ready {
  readonly owner: number;
  readonly hash: ContentHash;
}

interface FleetUploadsParts {
  readonly rows: UploadRows;
  readonly bucket: Bucket;
  readonly blobs: FleetBlobs;
  readonly tenants: FleetTenants;
  readonly accounts: FleetAccounts;
  readonly objectRows: ObjectRows;
  readonly space: FleetSpace;
}

export class FleetUploads {
  readonly #parts: FleetUploadsParts;
  /** The hash of uploads that this node may continue; the least recently used comes first. */
  readonly #ready = new Map<string, Ready>();
  readonly #incoming = new Map<string, IncomingPart>();

  constructor(parts: FleetUploadsParts) {
    this.#parts = parts;
  }

  /** The uploads of a tenant: its ids are its own, and its blobs become present for it. */
  ofTenant(sender = STORE_ITSELF): Uploads {
    const name = sender.tenant;
    return {
      status: (id) => this.#status(id, name),
      append: (id, part) =>
        this.#exclusively(keyOf(id, name), new IncomingPart(part.content), (incoming) =>
          this.#receive(id, part, incoming, sender),
        ),
      cancel: (id) =>
        this.#exclusively(keyOf(id, name), new IncomingPart(Buffer.alloc(0)), () => this.#cancel(id, sender)),
    };
  }

  async #status(id: string, tenant: string | undefined): Promise<UploadStatus | undefined> {
    const row = await this.#find(await this.#parts.tenants.find(tenant), id);
    return row && { committed: row.committed, isFinished: false };
  }

  async #cancel(id: string, sender: BlobSender): Promise<void> {
    const tenant = await this.#parts.tenants.find(sender.tenant);
    const row = await this.#find(tenant, id);
    if (row) await this.#drop({ tenant, sender, id, owner: row.owner });
  }

  async #find(tenant: number, id: string): Promise<FleetUploadRow | undefined> {
    return tenant === NO_TENANT ? undefined : this.#parts.rows.find(tenant, id);
  }

  /** Only the newest part of an upload runs on this node: the connection of an older one is most likely gone. */
  async #exclusively<T>(
    key: string,
    incoming: IncomingPart,
    work: (incoming: IncomingPart) => Promise<T>,
  ): Promise<T> {
    for (let earlier = this.#incoming.get(key); earlier; earlier = this.#incoming.get(key)) {
      earlier.stop();
      await earlier.finished;
    }
    this.#incoming.set(key, incoming);
    try {
      return await work(incoming);
    } finally {
      incoming.close();
      this.#incoming.delete(key);
      incoming.finish();
    }
  }

  async #receive(
    id: string,
    part: UploadPart,
    incoming: IncomingPart,
    sender: BlobSender,
  ): Promise<UploadStatus> {
    const upload = await this.#takeOver(id, part, sender);
    let failure: { readonly cause: unknown } | undefined;
    try {
      failure = await this.#fill(upload, incoming);
    } catch (error) {
      upload.hash?.discard();
      throw error;
    }
    if (!failure && isLastPart(part)) return this.#finish(upload);
    this.#keepReady(upload);
    if (failure) throw failure.cause;
    return { committed: upload.committed, isFinished: false };
  }

  async #takeOver(id: string, part: UploadPart, sender: BlobSender): Promise<OwnedUpload> {
    const { expected, offset } = part;
    const tenant = await this.#parts.tenants.assign(sender.tenant);
    for (;;) {
      const row = await this.#find(tenant, id);
      refuseBadPart(row, part);
      const rest = (expected.size ?? 0) - offset;
      if (rest > FLEET.inlineBytes) this.#parts.bucket.refuseIfAway();
      this.#parts.space.refuseAnnounced(expected.size ?? 0, sender.holder);
      if (rest > 0) this.#parts.space.refuseIfFull('bucket', 1, sender.holder);
      const ready = this.#takeReady(keyOf(id, sender.tenant), row);
      const hash = offset === 0 ? await ContentHash.create() : ready;
      const owner = row
        ? await this.#parts.rows.takeOver({ tenant, id, owner: row.owner }, offset)
        : await this.#begin(tenant, id, expected, sender.holder);
      if (owner !== undefined) return { tenant, sender, id, expected, owner, committed: offset, hash };
      hash?.discard();
    }
  }

  async #begin(
    tenant: number,
    id: string,
    expected: Expected,
    holder: FleetHolder | undefined,
  ): Promise<number | undefined> {
    if (this.#parts.space.hasTooManyUploads)
      throw new AssayError('ASSAY_TOO_MANY_UPLOADS', `${FLEET.maxUploads} uploads are unfinished`);
    const numbers = holder && (await this.#parts.accounts.numbersOf(holder));
    return this.#parts.rows.begin(tenant, id, expected, numbers?.own);
  }

  #takeReady(key: string, row: FleetUploadRow | undefined): ContentHash | undefined {
    const ready = this.#ready.get(key);
    this.#ready.delete(key);
    if (ready && ready.owner === row?.owner && ready.hash.size === row.committed) return ready.hash;
    ready?.hash.discard();
    return undefined;
  }

  #keepReady({ id, sender, owner, hash, committed }: OwnedUpload): void {
    if (!hash) return;
    if (hash.size !== committed) {
      hash.discard();
      return;
    }
    this.#ready.set(keyOf(id, sender.tenant), { owner, hash });
    for (const [oldest, ready] of this.#ready
      .entries()
      .take(Math.max(0, this.#ready.size - STORE.readyUploads))) {
      this.#ready.delete(oldest);
      ready.hash.discard();
    }
  }

  /** Returns the failure of the content, after all received bytes are durable. Throws failures of our own. */
  async #fill(upload: OwnedUpload, incoming: IncomingPart): Promise<{ readonly cause: unknown } | undefined> {
    const pieces = new PartPieces(upload, incoming);
    for (;;) {
      const first = await pieces.takeSmall();
      if (pieces.isTooLong) return this.#refuseExcess(upload, pieces);
      if (first.length === 0) return pieces.failure;
      if (first.length <= FLEET.inlineBytes && pieces.isEnded) await this.#addSmall(upload, first);
      else await this.#addObject(upload, first, pieces);
      if (pieces.isTooLong) return this.#refuseExcess(upload, pieces);
    }
  }

  async #refuseExcess(upload: OwnedUpload, { received }: PartPieces): Promise<never> {
    await this.#drop(upload);
    refuseExcess(upload.expected, received);
    throw superseded();
  }

  async #addSmall(upload: OwnedUpload, bytes: Buffer): Promise<void> {
    this.#parts.space.refuseIfFull('bucket', 1, upload.sender.holder);
    const checksums = await ChunkChecksums.create();
    checksums.update(bytes);
    const { length } = bytes;
    await this.#addPart(upload, { length, checksums: checksums.finish(), bytes, object: null });
  }

  async #addObject(upload: OwnedUpload, first: Buffer, pieces: PartPieces): Promise<void> {
    this.#parts.bucket.refuseIfAway();
    this.#parts.space.refuseIfFull('bucket', 1, upload.sender.holder);
    const incoming = this.#parts.space.receive(upload.sender.holder);
    const added = this.#parts.objectRows.whileUploading(async (name) => {
      const checksums = await ChunkChecksums.create();
      let length = 0;
      async function* segment(): AsyncGenerator<Uint8Array> {
        for await (const piece of pieces.segment(first)) {
          checksums.update(piece);
          length += piece.byteLength;
          incoming.grow(length);
          yield piece;
        }
      }
      await this.#parts.bucket.attempt((objects) => objects.put(name, segment(), undefined));
      const part = { length, checksums: checksums.finish(), bytes: null, object: name };
      await this.#addPart(upload, part, incoming);
    });
    await added.finally(() => incoming.end());
  }

  async #addPart(upload: OwnedUpload, part: Omit<PartRow, 'position'>, incoming?: Incoming): Promise<void> {
    const outcome = await this.#parts.rows.addPart(upload, { ...part, position: upload.committed });
    if (outcome === 'superseded') throw superseded();
    if (outcome === 'given up')
      throw new AssayError('ASSAY_STORE_FAULT', 'the part took so long that its object was given up');
    upload.committed += part.length;
    incoming?.end();
    this.#parts.space.stored('bucket', part.length, upload.sender.holder);
  }

  async #finish(upload: OwnedUpload): Promise<UploadStatus> {
    try {
      const digest = await this.#toBlob(upload);
      this.#parts.space.stored('bucket', -upload.committed, upload.sender.holder);
      await this.#drop(upload);
      return { committed: digest.size, isFinished: true, digest };
    } catch (error) {
      if (isRefusal(error)) await this.#drop(upload);
      throw error;
    }
  }

  async #toBlob({ tenant, sender, id, expected, committed, hash }: OwnedUpload): Promise<Digest> {
    const known = hash?.size === committed ? hash.finish() : undefined;
    hash?.discard();
    if (known) refuseMismatch(expected, known.digest);
    const parts = await this.#parts.rows.parts(tenant, id);
    const names = parts.flatMap(({ object }) => object ?? []);
    if (!known || !isAdoptable(parts, committed))
      return this.#parts.blobs.put(known?.digest ?? expected, this.#read(parts), sender);
    const lengths = parts.map(({ length }) => length);
    await this.#parts.blobs.adopt(known.digest, known.checksums, names, lengths, sender);
    return known.digest;
  }

  async *#read(parts: readonly PartRow[]): AsyncGenerator<Buffer> {
    const checksum = await loadChecksum();
    for (const { length: size, checksums, bytes, object } of parts) {
      const stored = decodeChecksums(checksums, size);
      if (!stored) throw corrupt();
      if (object !== null) {
        const list = { size, checksums: stored, names: [object], lengths: [size] };
        try {
          yield* readChunks(this.#parts.bucket, list, 0, stored.length);
        } catch (error) {
          throw error instanceof WrongChunk ? corrupt() : error;
        }
      } else if (bytes && checksum(bytes) === stored[0]) yield bytes;
      else throw corrupt();
    }
  }

  async #drop(upload: UploadKey & Pick<OwnedUpload, 'sender'>): Promise<void> {
    this.#takeReady(keyOf(upload.id, upload.sender.tenant), undefined);
    await this.#parts.rows.drop(upload);
  }

  async close(): Promise<void> {
    for (const incoming of this.#incoming.values()) incoming.stop();
    await Promise.all([...this.#incoming.values()].map(({ finished }) => finished));
    for (const { hash } of this.#ready.values()) hash.discard();
  }
}

function keyOf(id: string, tenant: string | undefined): string {
  return `${tenant ?? ''}\0${id}`;
}

/** A blob of many small objects would cost a request for each of them at every read. */
function isAdoptable(parts: readonly PartRow[], size: number): boolean {
  if (size <= FLEET.inlineBytes || parts.some(({ object }) => object === null)) return false;
  return parts.length === 1 || size / parts.length >= FLEET.minSegmentBytes;
}

/** Before anything is read for the part. */
function refuseBadPart(row: FleetUploadRow | undefined, { expected, offset }: UploadPart): void {
  const hash = row ? (row.hash ?? undefined) : expected.hash;
  const size = row ? (row.size ?? undefined) : expected.size;
  if (hash !== expected.hash || size !== expected.size)
    throw new AssayError('ASSAY_DIGEST_MISMATCH', 'this upload began with another digest');
  const committed = row?.committed ?? 0;
  if (offset !== committed)
    throw new AssayError(
      'ASSAY_BAD_OFFSET',
      `the upload has ${committed} bytes, the part begins at ${offset}`,
    );
}

function corrupt(): AssayError {
  return new AssayError(
    'ASSAY_BLOB_CORRUPT',
    'a part of the upload fails its checksum; send all of it again',
  );
}

/** The upload is dropped: sending the rest again can't help. */
function isRefusal(error: unknown): boolean {
  return (
    error instanceof AssayError && /^ASSAY_(DIGEST_MISMATCH|SIZE_MISMATCH|BLOB_CORRUPT)$/.test(error.code)
  );
}
