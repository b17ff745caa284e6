// What a signed upload URL takes, as Azure's blob storage does: the whole in one PUT, or blocks in any order and then a list
// that says which of them, in which order, are the whole.
//
// Everything on the way lies in the store, so a restart loses no block; what is never finalized is evicted like the rest.
import { type Digest, parseHash } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import type { ResultAddress } from '../../../store/store.ts';
import type { Exchange } from '../../exchange.ts';
import { receiveWhole } from '../../upload.ts';
import { badKey, notTaken } from '../adapter.ts';
import { encodeArtifact, findArtifact } from '../artifact.ts';
import { takeArtifact } from '../artifact-exchange.ts';
import { blocksIn } from './block-list.ts';
import { concatenated } from './concatenated.ts';
import { blockAddress, pendingAddressOf } from './entry.ts';

const SUBJECT = /^upload\/(?<pending>[0-9a-f]{64})\/(?<uploadId>[0-9a-f]{32})$/;

export async function receiveUpload(
  exchange: Exchange,
  subject: string,
  query: URLSearchParams,
): Promise<void> {
  const { pending, uploadId } = SUBJECT.exec(subject)?.groups ?? {};
  if (pending === undefined || uploadId === undefined) throw badKey('those that CreateCacheEntry gives');
  if (exchange.method !== 'PUT') throw notTaken(exchange);
  exchange.admitWrite();
  const target = pendingAddressOf(parseHash(pending));
  switch (query.get('comp')) {
    case null:
      await receiveAll(exchange, target);
      break;
    case 'block':
      await takeArtifact(exchange, blockAddress(uploadId, blockIdIn(query)), { replace: true });
      break;
    case 'blocklist':
      await commitBlocks(exchange, target, uploadId);
      break;
    default:
      throw notSpoken('comp is block or blocklist');
  }
  exchange.answer(201, ['x-ms-request-server-encrypted', 'false'], Buffer.alloc(0));
}

async function receiveAll(exchange: Exchange, target: ResultAddress): Promise<void> {
  const type = exchange.request.headers['x-ms-blob-type'];
  if (type !== undefined && type !== 'BlockBlob') throw notSpoken('only block blobs are taken');
  await takeArtifact(exchange, target, { replace: true });
}

const MAX_BLOCK_ID_LENGTH = 256;

function blockIdIn(query: URLSearchParams): string {
  const id = query.get('blockid') ?? '';
  if (id === '' || id.length > MAX_BLOCK_ID_LENGTH) throw notSpoken('a block has a blockid');
  return id;
}

async function commitBlocks(exchange: Exchange, target: ResultAddress, uploadId: string): Promise<void> {
  const { store, limits, lifecycle } = exchange.server;
  const list = (await receiveWhole(exchange, limits.maxMessageBytes)).toString('utf8');
  const parts: Digest[] = [];
  for (const id of blocksIn(list)) {
    const block = await findArtifact(store, blockAddress(uploadId, id));
    parts.push(block?.digest ?? missing());
  }
  const size = parts.reduce((sum, part) => sum + part.size, 0);
  if (size > limits.maxBlobBytes)
    throw new AssayError('ASSAY_TOO_LARGE', `the limit for this address is ${limits.maxBlobBytes} bytes`);
  exchange.liftStallLimit();
  await lifecycle.whileWriting(async () => {
    const digest = await store.blobs.put({ size }, concatenated(store.blobs, parts));
    await store.results.put(target, encodeArtifact({ digest, attributes: {} }), { replace: true });
  });
}

function missing(): never {
  throw new AssayError('ASSAY_RESULT_INCOMPLETE', 'the list names a block that was not uploaded');
}

function notSpoken(why: string): AssayError {
  return new AssayError('ASSAY_BAD_MESSAGE', why);
}
