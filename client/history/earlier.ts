// The earlier action of a step as an Assay server sent it, compared with the action of a run. A machine without a
// history of its own names the reason of a miss with it.
// Nothing of it is trusted: it explains a miss, and decides none. What is fetched for it is verified and bounded.
import { type Digest, digestOf, type Hash } from '../../core/digest.ts';
import { compareActions, type KeyDifference, readCompared } from '../../store/actions/difference.ts';
import {
  type ActionOutline,
  decodeEarlier,
  type Earlier,
  withoutValues,
} from '../../store/actions/outline.ts';
import { readBlob } from '../../store/shared/read-blob.ts';
import type { BlobReader, Content } from '../../store/store.ts';
import { EARLIER } from '../limits.ts';
import type { Remote } from '../remote/remote.ts';

/** Undefined if the server's message can't be read: then it counts as absent. */
export function earlierIn(message: Uint8Array): Earlier | undefined {
  try {
    return message.length > EARLIER.maxBytes ? undefined : decodeEarlier(message);
  } catch {
    return undefined;
  }
}

/**
 * Undefined if its directories can't be had in time. `blobs` has the messages of the action. In a difference, digests
 * stand for the values.
 */
export async function differencesFrom(
  { action: old, directories }: ActionOutline,
  key: Hash,
  blobs: BlobReader,
  remote: Pick<Remote, 'getBlobs'> | undefined,
): Promise<KeyDifference[] | undefined> {
  const sent = new Map(directories.map((bytes) => [digestOf(bytes).hash, bytes]));
  let left: number = EARLIER.fetchedDirectories;
  const read = async (digest: Digest): Promise<Uint8Array> => {
    const known = sent.get(digest.hash) ?? (await readIfThere(digest.hash, blobs));
    if (known) return known;
    if (!remote || left-- <= 0 || digest.size > EARLIER.maxDirectoryBytes)
      throw new RangeError('a directory of the earlier action is not at hand');
    return fetch(digest, remote);
  };
  const compared = readCompared(key, blobs).then((now) => compareActions(old, withoutValues(now), read));
  return withinTime(compared.catch(() => undefined));
}

async function readIfThere(hash: Hash, blobs: BlobReader): Promise<Buffer | undefined> {
  try {
    return await readBlob(hash, blobs);
  } catch {
    return undefined;
  }
}

async function fetch(digest: Digest, remote: Pick<Remote, 'getBlobs'>): Promise<Buffer> {
  let bytes = Buffer.alloc(0);
  await remote.getBlobs([digest], async (_, content) => {
    bytes = await gather(content);
  });
  if (digestOf(bytes).hash !== digest.hash) throw new RangeError('it sent another directory');
  return bytes;
}

/** The remote sends no more than the digest's size. */
async function gather(content: Content): Promise<Buffer<ArrayBuffer>> {
  if (content instanceof Uint8Array) return Buffer.from(content);
  const chunks: Buffer[] = [];
  for await (const chunk of content) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

/** The command waits for its reason. */
async function withinTime<T>(work: Promise<T | undefined>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), EARLIER.waitMs);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
