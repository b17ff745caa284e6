// The bucket of a fleet on an S3 server.
import type { Hash } from '../../../../core/digest.ts';
import { elements, elementText } from '../aws/xml.ts';
import type { ListedObject, Objects, ObjectsPage } from '../objects.ts';
import { ObjectDeletion } from './deletion.ts';
import { S3 } from './limits.ts';
import { abortUpload, putCollected, putParts } from './multipart.ts';
import { ContentReader } from './outgoing.ts';
import {
  bucketAway,
  bucketRefused,
  type RequestOptions,
  Requests,
  type S3Request,
  type S3Success,
} from './requests.ts';
import type { S3Settings } from './settings.ts';

/** Sends nothing: whether the bucket can be reached is found out by the first request. */
export async function openS3Objects(settings: S3Settings, options: S3Options = {}): Promise<S3Bucket> {
  return new S3Objects(await Requests.open(settings, options), options.singlePutBytes);
}

export interface S3Bucket extends Objects {
  /**
   * Lists one object, to find out whether the set-up is right. Throws BucketRefusal or CredentialsRefused if somebody
   * must change it. Returns how far this machine's clock is behind, in milliseconds.
   */
  check(signal: AbortSignal): Promise<number>;
}

/** For the tests. */
interface S3Options extends RequestOptions {
  readonly singlePutBytes?: number;
}

class S3Objects implements S3Bucket {
  readonly #requests: Requests;
  readonly #singlePutBytes: number;
  readonly #deletion: ObjectDeletion;

  constructor(requests: Requests, singlePutBytes: number = S3.singlePutBytes) {
    this.#requests = requests;
    this.#singlePutBytes = singlePutBytes;
    this.#deletion = new ObjectDeletion(requests);
  }

  async check(signal: AbortSignal): Promise<number> {
    const query = { 'list-type': '2', 'max-keys': '1', prefix: this.#requests.prefix };
    await this.#requests.done({ method: 'GET', query }, signal);
    return this.#requests.clockOffsetMs;
  }

  async put(
    name: string,
    content: Uint8Array | AsyncIterable<Uint8Array>,
    size: number | undefined,
    sha256?: Hash,
  ): Promise<void> {
    if (content instanceof Uint8Array) {
      await this.#requests.done({ method: 'PUT', name, body: content });
      return;
    }
    const isOneBody = size !== undefined && size <= this.#singlePutBytes;
    const reader = new ContentReader(content, isOneBody);
    try {
      if (size === undefined) await putCollected(this.#requests, name, reader);
      else if (isOneBody) await this.#putOne(name, reader, size, sha256);
      else await putParts(this.#requests, name, reader, size);
    } catch (error) {
      // Not awaited: content that waits for a slow client cannot be ended from here.
      reader.close().catch(() => {});
      throw error;
    }
  }

  async #putOne(name: string, content: ContentReader, size: number, sha256: Hash | undefined): Promise<void> {
    // A body of 0 bytes is never asked for.
    if (size === 0) await content.expectEnd();
    const body = size === 0 ? Buffer.alloc(0) : { content, size };
    await this.#requests.done({ method: 'PUT', name, body, sha256 });
  }

  async get(
    name: string,
    offset: number,
    length: number,
    signal?: AbortSignal,
  ): Promise<AsyncIterable<Buffer> | undefined> {
    return this.#read({ method: 'GET', name }, offset, length, signal);
  }

  async probe(name: string, length: number): Promise<Buffer | undefined> {
    const content = await this.#read({ method: 'GET', name, isProbe: true }, 0, length);
    return content && Buffer.concat(await Array.fromAsync(content));
  }

  async #read(
    asked: S3Request,
    offset: number,
    length: number,
    signal?: AbortSignal,
  ): Promise<AsyncIterable<Buffer> | undefined> {
    const headers = { range: `bytes=${offset}-${offset + Math.max(1, length) - 1}` };
    const request: S3Request = { ...asked, headers };
    const answer = await this.#requests.send(request, signal);
    if (answer.ok) return exactly(request, answer, offset, length);
    if (answer.code === 'NoSuchKey') return undefined;
    if (answer.status === 416) return nothing();
    throw bucketRefused(request, answer);
  }

  delete(names: readonly string[]): Promise<readonly string[]> {
    return this.#deletion.delete(names);
  }

  async list(after: string | undefined): Promise<ObjectsPage> {
    const { prefix } = this.#requests;
    const start = after === undefined ? {} : { 'start-after': prefix + after };
    const query = { 'list-type': '2', 'max-keys': '1000', prefix, ...start };
    const request: S3Request = { method: 'GET', query };
    const { xml, time } = await this.#requests.text(request);
    const isTruncated = elementText(xml, 'IsTruncated');
    if (isTruncated === undefined) throw bucketAway(request, 'it answered without a list');
    const objects = elements(xml, 'Contents').map((entry): ListedObject => {
      const key = elementText(entry, 'Key') ?? '';
      const size = Number(elementText(entry, 'Size'));
      return { name: key.slice(prefix.length), size, ageMs: ageOf(entry, 'LastModified', time) };
    });
    return { objects, after: isTruncated === 'true' ? objects.at(-1)?.name : undefined };
  }

  async abortUploads(olderThanMs: number, isOwn: (name: string) => boolean): Promise<number> {
    const { prefix } = this.#requests;
    let aborted = 0;
    let marker: Readonly<Record<string, string>> | undefined = {};
    while (marker) {
      const { xml, time } = await this.#requests.text({
        method: 'GET',
        query: { uploads: '', prefix, ...marker },
      });
      for (const entry of elements(xml, 'Upload')) {
        const key = elementText(entry, 'Key') ?? '';
        const uploadId = elementText(entry, 'UploadId') ?? '';
        const name = key.slice(prefix.length);
        if (!key.startsWith(prefix) || !(ageOf(entry, 'Initiated', time) > olderThanMs)) continue;
        if (!isOwn(name)) continue;
        await abortUpload(this.#requests, name, uploadId);
        aborted++;
      }
      marker = nextUploads(xml);
    }
    return aborted;
  }

  async close(): Promise<void> {
    await this.#requests.close();
  }
}

/** By the server's own clock. Not a number, and so never old, if the server tells no time. */
function ageOf(entry: string, element: string, time: number): number {
  return time - Date.parse(elementText(entry, element) ?? '');
}

function nextUploads(xml: string): Readonly<Record<string, string>> | undefined {
  const key = elementText(xml, 'NextKeyMarker');
  if (elementText(xml, 'IsTruncated') !== 'true' || !key) return undefined;
  return { 'key-marker': key, 'upload-id-marker': elementText(xml, 'NextUploadIdMarker') ?? '' };
}

const CONTENT_RANGE = /^bytes (?<first>\d+)-(?<last>\d+)\/(?<total>\d+|\*)$/;

/** The bytes that the server announced, at most `length` of them. Fewer or others are a failure. */
async function* exactly(
  request: S3Request,
  { status, headers, body, leave }: S3Success,
  offset: number,
  length: number,
): AsyncGenerator<Buffer> {
  const announced = announcedBytes(status, headers, offset, length);
  if (announced === undefined) {
    leave();
    throw bucketAway(request, 'it answered with another range');
  }
  let left = announced;
  for await (const piece of body) {
    const wanted = piece.subarray(0, left);
    left -= wanted.length;
    if (wanted.length > 0) yield wanted;
    // A server that does not know ranges sends the whole object.
    if (left === 0) break;
  }
  if (left > 0) throw bucketAway(request, `its answer lacks ${left} bytes`);
}

/** How many bytes the answer must have. A server may ignore the range: then only a read from 0 can be answered. */
function announcedBytes(
  status: number,
  headers: S3Success['headers'],
  offset: number,
  length: number,
): number | undefined {
  if (status === 200 && offset === 0) {
    const size = Number(headers['content-length'] ?? Number.NaN);
    return Number.isSafeInteger(size) ? Math.min(size, length) : undefined;
  }
  const range = CONTENT_RANGE.exec(headers['content-range'] ?? '')?.groups;
  if (status !== 206 || !range || Number(range.first) !== offset) return undefined;
  const total = range.total === '*' ? Number.POSITIVE_INFINITY : Number(range.total);
  const last = Math.min(offset + Math.max(1, length), total) - 1;
  return Number(range.last) === last ? Math.min(length, last - offset + 1) : undefined;
}

async function* nothing(): AsyncGenerator<Buffer> {}
