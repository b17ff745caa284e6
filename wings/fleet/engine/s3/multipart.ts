// Uploads of many parts, for content that is large or of unknown size. The object appears with the last request,
// whole or not at all. An upload that fails is aborted; one whose node died is aborted by the janitor.
import { elementText } from '../aws/xml.ts';
import { S3 } from './limits.ts';
import type { ContentReader } from './outgoing.ts';
import { bodyText, bucketAway, bucketRefused, type Requests, type S3Request } from './requests.ts';

type PartBody = NonNullable<S3Request['body']>;

/** Content of a known size, in parts that are streamed. */
export async function putParts(
  requests: Requests,
  name: string,
  content: ContentReader,
  size: number,
): Promise<void> {
  const partBytes = Math.max(S3.partBytes, Math.ceil(size / S3.maxParts));
  await MultipartUpload.run(requests, name, async (upload) => {
    for (let offset = 0; offset < size; offset += partBytes)
      await upload.add({ content, size: Math.min(partBytes, size - offset) });
    await content.expectEnd();
  });
}

/** Content of an unknown size, collected into parts. Content that fits in one part takes one request. */
export async function putCollected(requests: Requests, name: string, content: ContentReader): Promise<void> {
  const first = await collect(content);
  if (first.length < S3.collectedPartBytes) {
    await requests.done({ method: 'PUT', name, body: first });
    return;
  }
  await MultipartUpload.run(requests, name, async (upload) => {
    let part = first;
    while (part.length > 0) {
      await upload.add(part);
      part = part.length < S3.collectedPartBytes ? Buffer.alloc(0) : await collect(content);
    }
  });
}

/** The next part: shorter than a full one only at the end of the content. */
async function collect(content: ContentReader): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let missing = S3.collectedPartBytes;
  while (missing > 0) {
    const piece = await content.next(missing);
    if (piece === undefined) break;
    pieces.push(Buffer.from(piece));
    missing -= piece.length;
  }
  return Buffer.concat(pieces);
}

class MultipartUpload {
  readonly #requests: Requests;
  readonly #name: string;
  readonly #uploadId: string;
  readonly #etags: string[] = [];

  /** Begins an upload, lets `fill` add its parts, and completes it. */
  static async run(
    requests: Requests,
    name: string,
    fill: (upload: MultipartUpload) => Promise<void>,
  ): Promise<void> {
    const begin: S3Request = { method: 'POST', name, query: { uploads: '' } };
    const uploadId = elementText((await requests.text(begin)).xml, 'UploadId');
    if (uploadId === undefined) throw bucketAway(begin, 'it answered without an UploadId');
    const upload = new MultipartUpload(requests, name, uploadId);
    try {
      await fill(upload);
      await upload.#complete();
    } catch (error) {
      await abortUpload(requests, name, uploadId).catch(() => {});
      throw error;
    }
  }

  private constructor(requests: Requests, name: string, uploadId: string) {
    this.#requests = requests;
    this.#name = name;
    this.#uploadId = uploadId;
  }

  async add(body: PartBody): Promise<void> {
    const partNumber = String(this.#etags.length + 1);
    const query = { partNumber, uploadId: this.#uploadId };
    const request: S3Request = { method: 'PUT', name: this.#name, query, body };
    if (this.#etags.length === S3.maxParts)
      throw bucketAway(request, `an object has at most ${S3.maxParts} parts`);
    const { headers, body: answer } = await this.#requests.expect(request);
    await bodyText(answer);
    if (headers.etag === undefined) throw bucketAway(request, 'it answered without an ETag');
    this.#etags.push(headers.etag);
  }

  /**
   * S3 may answer 200 before it has finished, and tell the failure in the body. If an answer was lost, the
   * upload is unknown at the second attempt: then the object tells whether the first one worked.
   */
  async #complete(): Promise<void> {
    const parts = this.#etags.map(
      (etag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${escaped(etag)}</ETag></Part>`,
    );
    const body = Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`);
    const query = { uploadId: this.#uploadId };
    const request: S3Request = { method: 'POST', name: this.#name, query, body };
    const answer = await this.#requests.send(request);
    if (!answer.ok) {
      if (answer.code === 'NoSuchUpload' && (await this.#exists())) return;
      throw bucketRefused(request, answer);
    }
    const code = elementText(await bodyText(answer.body), 'Code');
    if (code !== undefined) throw bucketAway(request, `it answered 200 ${code}`);
  }

  async #exists(): Promise<boolean> {
    const answer = await this.#requests.send({ method: 'HEAD', name: this.#name });
    if (answer.ok) await bodyText(answer.body);
    return answer.ok;
  }
}

/** An ETag has quotes. */
function escaped(text: string): string {
  return text.replace(/[<>&"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

/** An upload that is gone already is no failure. */
export async function abortUpload(requests: Requests, name: string, uploadId: string): Promise<void> {
  const request: S3Request = { method: 'DELETE', name, query: { uploadId } };
  const answer = await requests.send(request);
  if (answer.ok) await bodyText(answer.body);
  else if (answer.code !== 'NoSuchUpload') throw bucketRefused(request, answer);
}
