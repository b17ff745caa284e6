// The blobs of mise's protocol. The store has them under their SHA-256, and a record for each namespace leads from mise's
// digest to that (server/protocols/shared/artifact.ts).
// Guarantee: the record is written after the server has hashed the whole body, so it never leads to other bytes.
import { type Digest, type Hash, parseHash } from '../../core/digest.ts';
import { AssayError } from '../../core/errors.ts';
import type { Namespace } from '../../core/namespace.ts';
import type { Exchange } from '../../server/http/exchange.ts';
import { announcedSize, dropBody, receiveStream, receiveWhole } from '../../server/http/upload.ts';
import { artifactAddress, encodeArtifact, findArtifact } from '../../server/protocols/shared/artifact.ts';
import { answerBlob } from '../../server/protocols/shared/blob-answer.ts';
import { STORE } from '../../store/limits.ts';
import type { Blob, Content, ResultAddress } from '../../store/store.ts';
import { type MiseDigest, textOf } from './digest.ts';
import { RunningHash } from './hashing.ts';

const FOR_EVER = ['cache-control', 'max-age=31536000, immutable'];

function blobAddress(namespace: Namespace, digest: MiseDigest): ResultAddress {
  return artifactAddress('mise-blobs', namespace, textOf(digest));
}

/** Where the store has it. Undefined if it lacks it, or this request may not see it. A blob that it finds stays for a while. */
export async function findBlob(
  { store }: Pick<Exchange, 'store'>,
  namespace: Namespace,
  digest: MiseDigest,
): Promise<Digest | undefined> {
  return (await findArtifact(store, blobAddress(namespace, digest)))?.digest;
}

export async function openBlob(
  exchange: Exchange,
  namespace: Namespace,
  digest: MiseDigest,
): Promise<{ readonly hash: Hash; readonly blob: Blob } | undefined> {
  const found = await findBlob(exchange, namespace, digest);
  const blob = found && (await exchange.store.blobs.get(found.hash));
  return blob && { hash: found.hash, blob };
}

export async function answerMiseBlob(
  exchange: Exchange,
  namespace: Namespace,
  digest: MiseDigest,
): Promise<void> {
  const read = await openBlob(exchange, namespace, digest);
  exchange.server.metrics.lookedUp('cas', read !== undefined);
  if (!read) return exchange.answerMiss();
  return answerBlob(exchange, read.hash, read.blob, FOR_EVER);
}

/** `present`: the body was not needed. */
export async function takeBlob(
  exchange: Exchange,
  namespace: Namespace,
  digest: MiseDigest,
): Promise<'stored' | 'present'> {
  const { lifecycle, limits } = exchange.server;
  const announced = announcedSize(exchange.request);
  if (digest.size > limits.maxBlobBytes)
    throw new AssayError('ASSAY_TOO_LARGE', `the limit for this address is ${limits.maxBlobBytes} bytes`);
  if (announced !== undefined && announced !== digest.size)
    throw new AssayError(
      'ASSAY_SIZE_MISMATCH',
      `the URL says ${digest.size} bytes, Content-Length ${announced}`,
    );
  if (await findBlob(exchange, namespace, digest)) {
    await dropBody(exchange);
    return 'present';
  }
  const isSmall = announced !== undefined && announced <= STORE.inlineBytes;
  const body = isSmall
    ? await receiveWhole(exchange, limits.maxBlobBytes)
    : receiveStream(exchange, limits.maxBlobBytes);
  const { store } = exchange;
  const stored = await lifecycle.whileWriting(async () =>
    store.blobs.put(expected(digest), await verified(body, digest)),
  );
  const record = encodeArtifact({ digest: stored, attributes: {} });
  await lifecycle.whileWriting(() => store.results.put(blobAddress(namespace, digest), record));
  return 'stored';
}

/** The store itself verifies a SHA-256. */
function expected({ algorithm, hash, size }: MiseDigest) {
  return algorithm === 'sha256' ? { hash: parseHash(hash), size } : { size };
}

async function verified(body: Buffer | AsyncIterable<Buffer>, digest: MiseDigest): Promise<Content> {
  if (digest.algorithm === 'sha256') return body;
  if (!Buffer.isBuffer(body)) return verifiedAtEnd(body, digest);
  for await (const _piece of verifiedAtEnd([body], digest));
  return body;
}

/** Throws at the end if the hash is another one: then the store keeps nothing. */
async function* verifiedAtEnd(
  pieces: Iterable<Buffer> | AsyncIterable<Buffer>,
  { hash }: MiseDigest,
): AsyncGenerator<Buffer> {
  const running = new RunningHash();
  let isHashed = false;
  try {
    for await (const piece of pieces) {
      await running.update(piece);
      yield piece;
    }
    const found = await running.digest();
    isHashed = true;
    if (found !== hash) throw new AssayError('ASSAY_DIGEST_MISMATCH', `the body has the BLAKE3 ${found}`);
  } finally {
    if (!isHashed) running.drop();
  }
}
