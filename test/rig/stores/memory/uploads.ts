// Uploads in parts, in the memory of this process.
import { digestOf, EMPTY } from '../../../../core/digest.ts';
import { AssayError } from '../../../../core/errors.ts';
import { STORE } from '../../../../store/limits.ts';
import { refuseExcess, refuseMismatch } from '../../../../store/shared/expected.ts';
import {
  type Blobs,
  isLastPart,
  type UploadPart,
  type UploadStatus,
  type Uploads,
} from '../../../../store/store.ts';

interface Upload {
  readonly expected: UploadPart['expected'];
  readonly pieces: Buffer[];
  status: UploadStatus;
  /** The part that is being received. A newer part replaces it. */
  incoming: UploadPart | undefined;
}

/** By the name of the tenant and the id. */
export type KeptUploads = Map<string, Upload>;

export function memoryUploads(kept: KeptUploads, blobs: Blobs, tenant = ''): Uploads {
  const keyOf = (id: string) => `${tenant}\0${id}`;

  /** Undefined before the first part. */
  function find(id: string, { expected, offset }: UploadPart): Upload | undefined {
    const upload = kept.get(id);
    const committed = upload?.status.committed ?? 0;
    const begun = upload?.expected ?? expected;
    if (begun.hash !== expected.hash || begun.size !== expected.size)
      throw new AssayError('ASSAY_DIGEST_MISMATCH', 'this upload began with another digest');
    if (offset !== committed) throw new AssayError('ASSAY_BAD_OFFSET', `the upload has ${committed} bytes`);
    return upload;
  }

  function begin(id: string, expected: Upload['expected']): Upload {
    if (kept.size >= STORE.maxUploads)
      throw new AssayError('ASSAY_TOO_MANY_UPLOADS', `${kept.size} uploads are unfinished`);
    const upload = { expected, pieces: [], status: { committed: 0, isFinished: false }, incoming: undefined };
    kept.set(id, upload);
    return upload;
  }

  async function finish(id: string, { expected, pieces }: Upload): Promise<UploadStatus> {
    const bytes = Buffer.concat(pieces);
    const digest = digestOf(bytes);
    kept.delete(id);
    refuseMismatch(expected, digest);
    if (digest.hash !== EMPTY.hash) await blobs.put(digest, bytes);
    return { committed: digest.size, isFinished: true, digest };
  }

  return {
    async status(id) {
      return kept.get(keyOf(id))?.status;
    },
    async append(ofCaller, part) {
      const id = keyOf(ofCaller);
      const upload = find(id, part) ?? begin(id, part.expected);
      upload.incoming = part;
      for await (const piece of part.content instanceof Uint8Array ? [part.content] : part.content) {
        if (kept.get(id) !== upload || upload.incoming !== part)
          throw new AssayError('ASSAY_BAD_OFFSET', 'the upload was taken over, or cancelled');
        const committed = upload.status.committed + piece.byteLength;
        if (committed > (part.expected.size ?? Number.POSITIVE_INFINITY)) kept.delete(id);
        refuseExcess(part.expected, committed);
        upload.pieces.push(Buffer.from(piece));
        upload.status = { committed, isFinished: false };
      }
      return isLastPart(part) ? finish(id, upload) : upload.status;
    },
    async cancel(id) {
      kept.delete(keyOf(id));
    },
  };
}
