// GetTree: the stored Directory messages of a folder and everything below it, in pages of one stream. Each
// distinct folder comes once, parents first. A missing folder is left out with everything below it, as the
// specification says.
//
// A page token is the number of folders before the page. Blobs never change, so the same walk finds it again.
import { type Digest, type Hash, parseDigest } from '../../../core/digest.ts';
import { encodeField } from '../../../core/edit-message.ts';
import { AssayError } from '../../../core/errors.ts';
import { decodeStrict } from '../../../core/message.ts';
import { Directory } from '../../../core/proto/generated/reapi.ts';
import { GetTreeRequest } from '../../../core/proto/generated/reapi-services.ts';
import { ABOUT_ONE_DIGEST } from '../../../core/proto/request-shapes.ts';
import { DIRECTORY } from '../../../core/proto/shapes.ts';
import { STORE } from '../../../store/limits.ts';
import type { Blobs } from '../../../store/store.ts';
import { MemoryReservation } from '../../capacity/capacity.ts';
import type { Call } from '../../grpc/call.ts';
import { singleRequest } from '../../grpc/method.ts';
import { wholeBlob } from '../../http/blob-bytes.ts';
import { digestIn, instanceOf } from './instance.ts';

/** The field numbers of directories and next_page_token in GetTreeResponse. */
const DIRECTORIES_FIELD = 1;
const TOKEN_FIELD = 2;
const NOTHING = new Uint8Array(0);

export const getTree = singleRequest(GetTreeRequest, ABOUT_ONE_DIGEST, async (request, call) => {
  const reservation = new MemoryReservation(call.server.capacity);
  try {
    await sendTree(request, call, reservation);
  } finally {
    reservation.release();
  }
});

/** A folder is in memory as it was read, as a field of its page, and in the page that is being sent. */
const COPIES = 3;

async function sendTree(request: GetTreeRequest, call: Call, reservation: MemoryReservation): Promise<void> {
  const {
    store,
    server: { limits },
  } = call;
  instanceOf(request);
  const skipped = countIn(request.pageToken);
  const perPage = request.pageSize > 0 ? request.pageSize : Number.POSITIVE_INFINITY;
  const hold = (bytes: number) => reservation.add(COPIES * bytes);
  let page: Uint8Array[] = [];
  let pageBytes = 0;
  let passed = 0;
  for await (const bytes of foldersBelow(digestIn(request.rootDigest), store.blobs, hold)) {
    if (passed++ < skipped) {
      reservation.release();
      continue;
    }
    if (page.length >= perPage || (page.length > 0 && pageBytes + bytes.length > limits.maxBatchBytes)) {
      const token = encodeField(TOKEN_FIELD, Buffer.from(String(passed - 1)));
      if (!(await call.send(NOTHING, Buffer.concat([...page, token])))) return;
      page = [];
      pageBytes = 0;
      reservation.release();
      hold(bytes.length);
    }
    page.push(encodeField(DIRECTORIES_FIELD, bytes));
    pageBytes += bytes.length;
  }
  if (skipped > passed) throw badToken();
  await call.send(NOTHING, Buffer.concat(page));
}

type Hold = (bytes: number) => void;

async function* foldersBelow(root: Digest, blobs: Blobs, hold: Hold): AsyncGenerator<Buffer, void, void> {
  const seen = new Set<Hash>([root.hash]);
  const waiting = [root];
  for (const folder of waiting) {
    const bytes = await folderBytes(folder, blobs, hold);
    if (!bytes && folder === root)
      throw new AssayError('ASSAY_NOT_FOUND', 'the root of the tree is not in the store');
    if (!bytes) continue;
    yield bytes;
    for (const { digest } of decodeDirectory(bytes).directories) {
      const child = parseDigest(digest ?? { hash: '', sizeBytes: 0 });
      if (!seen.has(child.hash)) waiting.push(child);
      seen.add(child.hash);
    }
  }
}

async function folderBytes({ hash, size }: Digest, blobs: Blobs, hold: Hold): Promise<Buffer | undefined> {
  if (size > STORE.maxTreeBytes)
    throw new AssayError('ASSAY_TOO_LARGE', `${hash} is too large for a Directory`);
  const blob = await blobs.get(hash);
  if (blob?.size !== size) return undefined;
  hold(size);
  return wholeBlob(blob);
}

function decodeDirectory(bytes: Buffer): Directory {
  return decodeStrict(
    Directory,
    DIRECTORY,
    bytes,
    'a blob of the tree is not a Directory',
    'ASSAY_MESSAGE_MALFORMED',
  );
}

function countIn(token: string): number {
  if (token === '') return 0;
  if (!/^\d{1,9}$/.test(token)) throw badToken();
  return Number(token);
}

function badToken(): AssayError {
  return new AssayError('ASSAY_UNSUPPORTED', 'the page token is not valid for this tree');
}
