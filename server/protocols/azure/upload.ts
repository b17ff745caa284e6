// Uploads in the way of Azure Blob Storage: the whole blob in one PUT, or blocks in any order and then a list
// of blocks. Blocks are in the store, so a restart loses none. Unused blocks are evicted like any result.

import { type Digest, digestOf } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { DEFAULT_NAMESPACE, protocolNamespace, UPLOAD_PARTS } from '../../../core/namespace.ts';
import type { ResultAddress } from '../../../store/store.ts';
import type { Exchange } from '../../http/exchange.ts';
import { receiveWhole } from '../../http/upload.ts';
import { PROTOCOL } from '../../limits.ts';
import { findOwnArtifact } from '../shared/artifact.ts';
import { checkArtifactPut, receiveArtifact, storeArtifact } from '../shared/artifact-exchange.ts';
import { assembled, assembledSize, assemblies } from '../shared/assembly.ts';
import { blocksIn } from './block-list.ts';
import { answerHeaders } from './headers.ts';

interface BlobUpload {
  readonly address: ResultAddress;
  /** Part of the address of each block, so that blocks of two uploads do not mix. */
  readonly uploadId: string;
  readonly query: URLSearchParams;
}

export async function receiveUpload(exchange: Exchange, upload: BlobUpload): Promise<void> {
  switch (upload.query.get('comp')) {
    case null:
      await receiveAll(exchange, upload);
      break;
    case 'block':
      await receiveBlock(exchange, upload);
      break;
    case 'blocklist':
      await commitBlocks(exchange, upload);
      break;
    default:
      throw unsupported('comp must be block or blocklist');
  }
  exchange.answer(201, [...answerHeaders(), 'x-ms-request-server-encrypted', 'false'], Buffer.alloc(0));
}

async function receiveAll(exchange: Exchange, { address }: BlobUpload): Promise<void> {
  const type = exchange.request.headers['x-ms-blob-type'];
  if (type !== undefined && type !== 'BlockBlob') throw unsupported('x-ms-blob-type must be BlockBlob');
  await receiveArtifact(exchange, address, { replace: true });
}

/** A block has no conditions: they belong to the whole blob, and come with its block list. */
async function receiveBlock(exchange: Exchange, { uploadId, query }: BlobUpload): Promise<void> {
  if (exchange.request.headers['if-none-match'] !== undefined)
    throw unsupported('a block with If-None-Match is not supported');
  await receiveArtifact(exchange, blockAddress(uploadId, blockIdIn(query)), { replace: true });
}

const BLOCKS = protocolNamespace(UPLOAD_PARTS.azure, DEFAULT_NAMESPACE);

function blockAddress(uploadId: string, blockId: string): ResultAddress {
  return { namespace: BLOCKS, key: digestOf(Buffer.from(`${uploadId}\0${blockId}`)).hash };
}

function blockIdIn(query: URLSearchParams): string {
  const id = query.get('blockid') ?? '';
  if (id === '' || id.length > PROTOCOL.maxBlockIdLength)
    throw unsupported('blockid must have 1 to 256 characters');
  return id;
}

async function commitBlocks(exchange: Exchange, { address, uploadId }: BlobUpload): Promise<void> {
  const { store } = exchange;
  const { limits, lifecycle } = exchange.server;
  await checkArtifactPut(exchange, address);
  const list = (await receiveWhole(exchange, limits.maxMessageBytes)).toString('utf8');
  const parts: Digest[] = [];
  for (const id of blocksIn(list)) {
    const block = await findOwnArtifact(store, blockAddress(uploadId, id));
    parts.push(block?.digest ?? missingBlock());
  }
  const size = assembledSize(parts, limits.maxBlobBytes);
  await assemblies.run(() =>
    lifecycle.whileWriting(async () => {
      const digest = await store.blobs.put({ size }, assembled(parts, store.blobs, evictedBlock));
      await storeArtifact(exchange, address, { digest, attributes: {} }, true);
    }),
  );
}

function evictedBlock({ hash }: Digest): AssayError {
  return new AssayError('ASSAY_RESULT_INCOMPLETE', `the block ${hash} was evicted; upload it again`);
}

function missingBlock(): never {
  throw new AssayError('ASSAY_RESULT_INCOMPLETE', 'the list names a block that was not uploaded');
}

function unsupported(why: string): AssayError {
  return new AssayError('ASSAY_BAD_MESSAGE', why);
}
